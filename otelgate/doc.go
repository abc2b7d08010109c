// SPDX-License-Identifier: Apache-2.0

// Package otelgate wraps any [trace.TracerProvider] so that a [spangate.Gate] turns its spans on
// and off by group while the program runs, those of third-party instrumentation included. What is
// beneath a span that is off joins the nearest span above that is on.
//
// A [TracerProvider] maps instrumentation scopes, span names and span kinds to groups by
// [Rule]. Install it where the SDK's provider would go:
//
//	sdk := sdktrace.NewTracerProvider(…)
//	provider, err := otelgate.NewTracerProvider(sdk, &gate,
//		otelgate.HTTPRules(bitServer, bitClient),
//		otelgate.Rule{Scope: "github.com/XSAM/otelsql", Group: bitSQL})
//	…
//	otel.SetTracerProvider(provider)
//	defer provider.Shutdown(ctx)
//
// # Sites that are off
//
// Whether a span exists is decided once, when Start is called: a span that was started ends and
// is exported however the gate changes later, and a span that was not started never appears. A
// tracer may be fetched while its group is off.
//
// The Start of a site that is off returns an inert span, and a context that holds it. The inert
// span has the span context of the span above, so what is beneath it joins that span. It
// records nothing and changes no other span: its End, SetName, SetStatus, SetAttributes and
// AddEvent have no effect. Libraries whose instrumentation is a pair of hooks drop the span that
// they start, and later take one from the context to rename, mark and end it. There they find the
// inert span, not their caller's.
//
//	in the context           the context returned                 the span returned
//	no span                  unchanged                            inert, no span context
//	this provider's inert    unchanged                            that inert span
//	any other span           with an inert span in its place      that inert span
//	any, WithNewRoot given   without the parent                   inert, no span context
//
// An invalid span context counts as no span, unless it is that of a span that records. A bare
// span context, remote or local, counts as a span, and so does another provider's inert span.
//
// With [OneTrace], a site that is off where a trace would begin puts an inert span with a trace ID and no
// span ID in the context, in the first and the last row: spans beneath are roots of that trace.
//
// While a gate has a reach, a site that is off where a trace would begin also records in the context that
// the function of [Overrides] has chosen none.
//
// A transparent site leaves the context unchanged while it is off, so that what inner code
// writes to [trace.SpanFromContext] lands on the nearest span that is on. Three kinds of site
// are transparent: code that checks [spangate.Gate.On] before it starts a span, [Do], and the
// sites of a [Rule.Transparent] or a [TracerProvider.Transparent]. [Do] and the third kind make
// exceptions. Beneath a bare span context, which has no gated provider for code that looks for one
// there, they put the inert span in the context. With WithNewRoot, and with OneTrace where a trace
// would begin, they do as other sites.
//
// # Spans that are on
//
// A span that is on wraps the base's span. If the base's span is a
// [go.opentelemetry.io/otel/sdk/trace.ReadWriteSpan], so is the gated one: code that asserts the
// span in a context to an interface of the SDK succeeds as without a gate. Span
// processors, exporters and samplers see the base's own spans, parents included.
//
// Some instrumentation, otelhttp for one, takes its provider from the span in the context.
// Spans that are on and inert spans therefore answer TracerProvider with the gated one; a
// span of a view answers with the provider that the view was made from. Where no span is above a
// site that is off, such code finds none and falls back to otel.GetTracerProvider: install the
// gated provider there too.
//
// # One trace in detail
//
// A [spangate.Override] in the context turns groups on for one trace, at every Start, within the reach
// of their gates ([spangate.Gate.SetReach]; package control sets it). Whether a trace gets one is
// decided where it begins, and with [RemoteShares] where it comes into the process: [Overrides] takes the function. The first span of the process
// has the attribute [OverrideKey]. A span with WithNewRoot leaves the override of the trace above behind.
//
// [OnError] makes the span of a [Do] that is off after the fact, if its function fails.
//
// # Scopes
//
// [TracerProvider.Scopes] lists the scopes that a program has used, with the rule that decides
// about their spans and the number of spans that were started. [TracerProvider.Unmatched] lists the
// rules that decide nothing, mostly because their scope is misspelt. [Discover] puts scopes that no
// rule names into groups.
//
// # Limits
//
// Two sites that are on, with no span above them that is on and no incoming traceparent, start
// a trace each, as they do without a gate; beneath a site that is off, OneTrace has them start one.
//
// A tracer that was fetched from otel.GetTracerProvider before any provider was installed
// delegates permanently to the first provider that is installed. If that is not the gated one,
// the tracer is not gated: install the gated provider first, and once.
//
// A provider that adds profiling labels to spans must be the base of the gated provider. If it
// wrapped the gated provider, it would label inert spans, and code that takes its provider from
// a span would not find the gated one.
//
// Some instrumentation, otelpgx and Traefik's for example, starts nothing unless the span above
// it records. While the group of the span above is off, the inert span in the context does not
// record, so that instrumentation starts no spans although its own group is on.
//
// Code that asserts the span in a context to a type of the SDK without checking the result
// panics beneath a site that is off, as it does beneath a span that is not sampled.
//
// Built with -tags spangate_off, every span that a rule or [Discover] puts in a group, and every
// span of a view made by Group, is always off.
//
// # Cost
//
// The Start of a site that is off, without options, allocates nothing if there is no span above,
// if the span above is inert, or if the context is the one that the Start of a gated span
// returned. Otherwise it allocates once. Transparent sites allocate nothing under a gated span,
// however far above it is. The caller builds the options before Start checks the gate: in hot
// code, guard the call with [spangate.Gate.On] and build attributes inside.
//
// A span that is on costs two allocations more than the base's, and three if the span above is
// inert, or is gated and the context is not the one that its Start returned. It is counted in a
// cache line that goroutines seldom share. Tracer allocates nothing for a scope that it has seen.
//
// While no gate has a reach, overrides cost a site that is off one load. While its gate has, a site in
// reach looks the override up in its context; the other sites beneath a span that is on do not. A site that
// is off where a trace would begin calls the function of Overrides, and allocates.
package otelgate
