// SPDX-License-Identifier: Apache-2.0

// Package otelgate puts the spans of any [trace.TracerProvider] behind a
// [spangate.Gate], so that code which knows nothing of gates, third-party
// instrumentation included, is switched on and off by group while it runs, and no choice of
// groups breaks a trace.
//
// A [TracerProvider] maps instrumentation scopes, span names and span kinds to groups by
// [Rule]. Install it where the SDK's provider would go:
//
//	sdk := sdktrace.NewTracerProvider(…)
//	provider, err := otelgate.NewTracerProvider(sdk, &gate,
//		otelgate.HTTPRules(bitServer, bitClient),
//		otelgate.Rule{Scope: "github.com/XSAM/otelsql*", Group: bitSQL})
//	…
//	otel.SetTracerProvider(provider)
//	defer provider.Shutdown(ctx)
//
// # What a site that is off does
//
// Whether a span exists is decided once, when it is started: one that was started ends and
// is exported as ever, however the gate moves, and one that was not never appears. A tracer
// that was fetched while its group was off works when the group goes on.
//
// A site that is off hands back an inert span and puts it in the context. The inert span has
// the span context of the span above, so what is beneath it joins that span. It records
// nothing and touches no other span: its End, SetName, SetStatus, attributes and events go
// nowhere. Libraries whose instrumentation is a pair of hooks drop the span that they start
// and later fetch one from the context to name, mark and end it; they find the inert one, and
// not their caller's.
//
//	in the context           the context handed on                the span handed back
//	no span                  as it was                            inert, no span context
//	an inert span            as it was                            that inert span
//	any other span           with an inert span in its place      that inert span
//	any, WithNewRoot given   without the parent                   inert, no span context
//
// An invalid span context counts as no span, unless it is that of a span that records. A bare
// span context, remote or local, counts as a span.
//
// A transparent site hands its context on as it was while it is off, so that what inner code
// writes to [trace.SpanFromContext] lands on the nearest span that is on. Transparent are code
// that asks [spangate.Gate.On] before it starts a span, [Do], and what [Rule.Transparent] or
// [TracerProvider.Transparent] declares so. (Beneath a bare span context they put the inert
// span in its place all the same, so that a gated provider is found there.)
//
// # What a span that is on is
//
// It is the base's span, and where that is an [go.opentelemetry.io/otel/sdk/trace.ReadWriteSpan] so is it: code that
// asserts the span in a context to a type of the SDK finds what it would without a gate. Span
// processors, exporters and samplers are shown the base's own spans, parents included.
//
// Some instrumentation, otelhttp for one, takes its provider from the span in the context.
// Spans that are on and inert spans therefore answer TracerProvider with the gated one; a
// span of a view answers with the provider that the view is of. Where there is no trace
// above a site that is off there is no span to find either, and such code falls back to
// otel.GetTracerProvider: install the gated provider there too.
//
// # What a gate can't cure
//
// One trace needs one span above it all, or a traceparent that came in: two sites with
// nothing above them that is on start a trace each, as they would without a gate.
//
// A tracer that was fetched from otel.GetTracerProvider before any provider was installed
// delegates to the first that is. If that one is not the gated provider, the tracer is not
// gated: install the gated provider first, and once.
//
// A provider that adds profiling labels to spans belongs under the gate, as its base, and not
// over it: over it, it would label inert spans, and hide the gated provider from code that
// looks for it through a span.
//
// Some instrumentation starts nothing unless the span above it records, as otelpgx and Traefik
// do. While the span above is off, its spans do not exist although its group is on. What
// stands in the context then is inert and does not record.
//
// Code that asserts the span in a context to a type of the SDK and does not check that it is
// one panics beneath a site that is off, as it does beneath a span that is not sampled.
//
// Built with -tags spangate_off, every scope for which there is a rule is off for good.
//
// # What it costs
//
// A site that is off and gives no options allocates nothing under no span, under an inert
// one, and where the context is the one that the Start of a gated span returned. Elsewhere it
// is one allocation. Transparent sites allocate nothing under a gated span, however far above
// it is. Options are built by the caller before any gate can help: in a hot place, guard the
// call with [spangate.Gate.On] and build attributes inside.
//
// A span that is on costs two allocations more than the base's, three where something stands
// in the context between it and the span above. Tracer allocates nothing for a scope that it
// has seen.
package otelgate
