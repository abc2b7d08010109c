// SPDX-License-Identifier: Apache-2.0

// Package setup puts the spans of a program behind a gate in one call:
//
//	parts, err := setup.New(sdk, setup.Token(os.Getenv("SPANS_TOKEN"))) // sdk is an OpenTelemetry TracerProvider
//	…
//	defer parts.Close()
//	otel.SetTracerProvider(parts.TracerProvider)
//	http.Handle("/spans/", http.StripPrefix("/spans", parts.Handler))
//
// All spans stay on at first. Each library that starts spans is a group of its own. The page at /spans/
// shows the groups with their counts, and the command quiets one for ten minutes:
//
//	spangate quiet otelsql --for 10m --url http://localhost:8080/spans/
//
// Options set the baseline ([Environment], [File]), choose groups by rules ([Rules], [RulesText],
// [ReadyRules]), and add groups of the program's own ([Catalog]).
//
// A program that needs another combination calls [otelgate.NewTracerProvider], [registry.Scopes],
// [control.New] and [control.Handler] itself.
//
// [registry.Scopes]: https://pkg.go.dev/github.com/spangate/spangate/registry#Scopes
package setup
