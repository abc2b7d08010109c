// SPDX-License-Identifier: Apache-2.0

package otelgate

import _ "embed"

var (
	//go:embed ready/libraries.rules
	libraryRules string
	//go:embed ready/openfga.rules
	openFGARules string
	//go:embed ready/prometheus.rules
	prometheusRules string
	//go:embed ready/traefik.rules
	traefikRules string
)

// LibraryRules returns rules for common instrumentation libraries of HTTP, gRPC, SQL, Redis and
// Kafka, by the kinds of work that they trace:
//
//	http_server      otelhttp's handler, otelgin
//	http_client      otelhttp's transport
//	http_connection  otelhttptrace
//	grpc_server      otelgrpc's server
//	grpc_client      otelgrpc's client
//	sql              otelsql (three of that name), otelpgx, gorm, otelgorm, bunotel
//	redis            redisotel
//	kafka            kotel, otelsarama
//
// Put the program's own rules before them to override them. A rule for a library that the program does
// not have costs nothing.
func LibraryRules() NamedRules { return mustParseRules(libraryRules) }

// OpenFGARules returns rules for the spans of OpenFGA itself; its groups begin with "openfga.".
func OpenFGARules() NamedRules { return mustParseRules(openFGARules) }

// PrometheusRules returns rules for the spans of Prometheus itself; its groups begin with
// "prometheus.".
func PrometheusRules() NamedRules { return mustParseRules(prometheusRules) }

// TraefikRules returns rules for the spans of Traefik itself; its groups begin with "traefik.".
func TraefikRules() NamedRules { return mustParseRules(traefikRules) }

// mustParseRules is [ParseRules] for text that is part of this package.
func mustParseRules(text string) NamedRules {
	rules, err := ParseRules(text)
	if err != nil {
		panic(err)
	}
	return rules
}
