// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// gatedTracer is the base's tracer of one scope, behind a gate.
type gatedTracer struct {
	embedded.Tracer

	base        trace.Tracer
	origin      *origin
	sites       sites
	transparent bool         // every site, whatever its rule says
	forDo       *gatedTracer // the same tracer with every site transparent
}

var _ trace.Tracer = (*gatedTracer)(nil)

// Start starts a span if its group is on. If it is off, it returns an inert span, and a
// context that holds it; the package's doc has the cases. A nil ctx counts as
// [context.Background], as in the SDK.
func (t *gatedTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		return t.Start(context.Background(), name, opts...)
	}
	current := ctx.Value(spanKey)
	s := t.sites.of(name, opts)
	if s.on() {
		return t.on(ctx, current, name, opts, s)
	}
	if s.withheld.counts != nil {
		s.withheld.add()
	}
	if current == nil {
		s.markRoot()
		return ctx, &t.origin.provider.none
	}
	if span, ok := current.(*sdkSpan); ok && span.inert.origin == t.origin && len(opts) == 0 {
		return span.beneath(ctx, s.transparent || t.transparent) // as off does, but faster
	}
	return t.off(ctx, current, opts, s)
}

// on starts a span of the base, wraps it and counts it. current is the current span of ctx, or nil.
func (t *gatedTracer) on(ctx context.Context, current any, name string, opts []trace.SpanStartOption, s *site) (context.Context, trace.Span) {
	baseCtx := ctx
	if span, ok := current.(*sdkSpan); ok && same(span.ctx, ctx) && span.inert.origin == t.origin {
		baseCtx = span.base // the common case, without an allocation
	} else if current != nil {
		baseCtx = t.baseContext(ctx, current)
	}
	next, base := t.base.Start(baseCtx, name, opts...)
	if next == nil {
		next = ctx // a faulty base must not make its callers panic
	}
	rw, ok := base.(sdktrace.ReadWriteSpan)
	if !ok {
		if _, off := base.(*inert); off || base == nil { // the base is gated too, and its gate is off; or it is faulty
			if s.gate.Load() == nil {
				s = ungated
			}
			return t.off(ctx, current, opts, s)
		}
		s.started.add()
		return t.wrapOther(next, base)
	}
	s.started.add()
	span := &sdkSpan{rw, started{inert: inert{origin: t.origin}, base: next}}
	span.ctx = trace.ContextWithSpan(next, span)
	span.inert.above = span
	return span.ctx, span
}

// wrapOther returns what Start returns for a base span that is no sdktrace.ReadWriteSpan: one of
// another SDK, or one that the sampler dropped. base and ctx are what the base's Start returned.
func (t *gatedTracer) wrapOther(ctx context.Context, base trace.Span) (context.Context, trace.Span) {
	span := &otherSpan{base, started{inert: inert{origin: t.origin}, base: ctx}}
	span.ctx = trace.ContextWithSpan(ctx, span)
	span.inert.above = span
	return span.ctx, span
}

// Enabled reports whether a span that is started now could be on, under any name and kind. It is
// false if every span would be inert, or if the base's tracer has Enabled and that is false. It
// is OpenTelemetry's Tracer.Enabled. A nil ctx counts as [context.Background].
func (t *gatedTracer) Enabled(ctx context.Context) bool {
	if !t.sites.anyOn() {
		return false
	}
	base, ok := t.base.(interface {
		Enabled(ctx context.Context) bool
	})
	if !ok {
		return true
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return base.Enabled(t.baseContext(ctx, ctx.Value(spanKey)))
}

// baseContext returns ctx, whose current span is given, with the base's own span in place of a
// gated or inert one. The SDK counts the children of a span, and samplers and span processors
// read the parent, only if it is of the SDK's own type.
func (t *gatedTracer) baseContext(ctx context.Context, current any) context.Context {
	switch s := current.(type) {
	case *sdkSpan:
		return trace.ContextWithSpan(ctx, underlying(s))
	case *otherSpan:
		if same(s.ctx, ctx) && s.inert.origin == t.origin {
			return s.base // without an allocation, as in on
		}
		return trace.ContextWithSpan(ctx, underlying(s))
	case *inert:
		return trace.ContextWithSpan(ctx, underlying(s))
	}
	return ctx
}

// off returns what Start returns at a site that is off; current is the current span of ctx.
// A transparent site leaves ctx unchanged, unless code beneath it would not find a gated
// provider there.
func (t *gatedTracer) off(ctx context.Context, current any, opts []trace.SpanStartOption, s *site) (context.Context, trace.Span) {
	if len(opts) > 0 {
		if c := startConfig(opts); c.NewRoot() {
			s.markRoot()
			return t.detach(ctx, current)
		}
	}
	switch a := current.(type) {
	case *sdkSpan:
		if a.inert.origin == t.origin {
			return a.beneath(ctx, s.transparent || t.transparent)
		}
	case *inert:
		if a.origin == t.origin {
			return ctx, a
		}
	case *otherSpan:
		if a.inert.origin == t.origin {
			return a.beneath(ctx, s.transparent || t.transparent)
		}
	}
	return t.offForeign(ctx, current, s)
}

// offForeign is off for a current span that is not one of t's provider, or that is a span
// context without a span.
func (t *gatedTracer) offForeign(ctx context.Context, current any, s *site) (context.Context, trace.Span) {
	above, ok := current.(trace.Span)
	if !ok {
		return ctx, &t.origin.provider.none
	}
	above = underlying(above)
	bare := false
	if _, ok := above.(sdktrace.ReadWriteSpan); !ok { // a span of the SDK is valid, local and records
		sc := above.SpanContext()
		if !sc.IsValid() && !above.IsRecording() {
			s.markRoot()
			return ctx, &t.origin.provider.none
		}
		bare = sc.IsRemote() || isBare(above)
	}
	c := &inertContext{Context: ctx, inert: inert{t.origin, above}}
	if (s.transparent || t.transparent) && !bare {
		return ctx, &c.inert
	}
	return c, &c.inert
}

// detach returns what the Start of a site that is off returns if the caller gave WithNewRoot:
// spans beneath the site must not join the trace above.
func (t *gatedTracer) detach(ctx context.Context, current any) (context.Context, trace.Span) {
	none := &t.origin.provider.none
	// Also if current is not valid: the SDK joins a span context that has only a trace ID.
	if current != nil && current != any(none) {
		ctx = trace.ContextWithSpan(ctx, none)
	}
	return ctx, none
}

// startConfig returns a config with the span's kind and whether it is a new root. It skips the
// options that are also options of an event (attributes, timestamps, stack traces): they set
// neither, and evaluating attributes allocates.
func startConfig(opts []trace.SpanStartOption) trace.SpanConfig {
	var buf [4]trace.SpanStartOption
	rest := buf[:0]
	for _, opt := range opts {
		if _, ok := opt.(trace.EventOption); !ok {
			rest = append(rest, opt)
		}
	}
	return trace.NewSpanStartConfig(rest...)
}
