// SPDX-License-Identifier: Apache-2.0

// Package otelgate puts the spans of any [trace.TracerProvider] behind a
// [spangate.Gate], so that code which knows nothing of gates, third-party
// instrumentation included, is switched on and off by group while it runs, and no choice of
// groups breaks a trace.
//
// A [TracerProvider] maps instrumentation scopes to groups by [Rule]. Install it where the
// SDK's provider would go:
//
//	sdk := sdktrace.NewTracerProvider(…)
//	provider, err := otelgate.NewTracerProvider(sdk, &gate, otelgate.HTTPRules()...)
//	…
//	otel.SetTracerProvider(provider)
//	defer provider.Shutdown(ctx)
//
// # What a site that is off does
//
// Whether a span exists is decided once, when it is started: one that was started ends and
// is exported as ever, however the gate moves, and one that was not never appears. A tracer
// that was fetched while its group was off works when the group goes on. A site that is off
// is transparent:
//
//	in the context           the context handed on                  the span handed back
//	no span                  as it was                              inert, no span context
//	a span that is on        as it was                              inert, with its context
//	only a remote parent     with that inert span in place of it    inert, with its context
//	any, WithNewRoot given   without the parent                     inert, no span context
//
// An inert span records nothing and never touches an ancestor: its End, SetName and
// SetStatus go nowhere. What inner code writes to trace.SpanFromContext(ctx) lands on the
// nearest span that is on.
//
// Some instrumentation, otelhttp for one, takes its provider from the span in the context.
// Spans that are on and inert spans therefore answer TracerProvider with the gated one; a
// span of a view answers with the provider that the view is of. Where there is no trace
// above a site that is off there is no span to find either, and such code falls back to
// otel.GetTracerProvider: install the gated provider there too.
//
// One trace needs one span above it all, or a traceparent that came in: two sites with
// nothing above them that is on start a trace each, as they would without a gate.
//
// A span that is on is the base's span in a wrapper, so code that asserts the span in a
// context to a type of the SDK, such as ReadOnlySpan, does not find that type. Span
// processors, exporters and samplers are shown the SDK's own spans, parents included.
//
// Built with -tags spangate_off, every scope for which there is a rule is off for good.
//
// # What it costs
//
// A site that is off and gives no options allocates nothing where the context has no span,
// or one from a tracer of the same provider or a view of it. Options are built by the caller before any gate can help: in
// a hot place, guard the call with [spangate.Gate.On] and build attributes inside.
package otelgate
