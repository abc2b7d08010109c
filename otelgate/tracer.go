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

	base   trace.Tracer
	origin *origin
	sites
	// transparent is the same tracer with sites that hand their context on as it was while
	// they are off, for Do.
	transparent *gatedTracer
}

var _ trace.Tracer = (*gatedTracer)(nil)

// Start starts a span if its group is on. If it is off, it returns an inert span, and a
// context that holds it; the package's doc has the cases. A nil ctx counts as
// [context.Background], as in the SDK.
func (t *gatedTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		return t.Start(context.Background(), name, opts...)
	}
	above := ctx.Value(spanKey)
	s := t.site(name, opts)
	shown := ctx
	if above == nil {
		s.markRoot()
		if !s.on() {
			return ctx, &t.origin.provider.none
		}
	} else {
		if !s.on() {
			return t.off(ctx, above, opts, s)
		}
		if s, ok := above.(*sdkSpan); ok && s.ctx == ctx && s.inert.origin == t.origin {
			shown = s.base // as nearly always, and nothing is allocated
		} else {
			shown = t.shown(ctx, above)
		}
	}
	next, base := t.base.Start(shown, name, opts...)
	if _, off := base.(*inert); off { // the base is gated too, and its gate is off
		return t.off(ctx, above, opts, s)
	}
	if next == nil {
		next = ctx // a faulty base must not make its callers panic
	}
	rw, ok := base.(sdktrace.ReadWriteSpan)
	if !ok {
		if base == nil { // as faulty; there is no span, as if it were off
			return t.off(ctx, above, opts, s)
		}
		return t.wrapOther(next, base)
	}
	span := &sdkSpan{rw, started{inert: inert{origin: t.origin}, base: next}}
	span.ctx = trace.ContextWithSpan(next, span)
	span.inert.of = span
	return span.ctx, span
}

// wrapOther returns a span that is not the SDK's, as the base started and returned it together
// with ctx, as a gated span.
func (t *gatedTracer) wrapOther(ctx context.Context, base trace.Span) (context.Context, trace.Span) {
	span := &otherSpan{base, started{inert: inert{origin: t.origin}, base: ctx}}
	span.ctx = trace.ContextWithSpan(ctx, span)
	span.inert.of = span
	return span.ctx, span
}

// Enabled reports whether a span that the tracer starts now may be on. If it returns false,
// every span would be inert, whatever its name and kind. It is OpenTelemetry's
// Tracer.Enabled. A nil ctx counts as [context.Background].
func (t *gatedTracer) Enabled(ctx context.Context) bool {
	if !t.anyOn() {
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
	return base.Enabled(t.shown(ctx, ctx.Value(spanKey)))
}

// shown returns ctx, whose current span is above, as the base is to see it: with its own span
// in place of a gated or an inert one. The SDK counts a span's children, and samplers and span
// processors look at its parent, where that is of the SDK's own type.
func (t *gatedTracer) shown(ctx context.Context, above any) context.Context {
	switch s := above.(type) {
	case *sdkSpan:
		return trace.ContextWithSpan(ctx, underlying(s))
	case *otherSpan:
		if s.ctx == ctx && s.inert.origin == t.origin {
			return s.base // as in Start, where the span is the SDK's
		}
		return trace.ContextWithSpan(ctx, underlying(s))
	case *inert:
		return trace.ContextWithSpan(ctx, underlying(s))
	}
	return ctx
}

// off returns what a site that is off hands back where the current span of ctx is above.
// Transparent sites hand ctx on as it was, unless what is beneath them would not find a gated
// provider there.
func (t *gatedTracer) off(ctx context.Context, above any, opts []trace.SpanStartOption, s *site) (context.Context, trace.Span) {
	if len(opts) > 0 {
		if c := startConfig(opts); c.NewRoot() {
			s.markRoot()
			return t.detach(ctx, above)
		}
	}
	switch a := above.(type) {
	case *sdkSpan:
		if a.inert.origin == t.origin {
			return a.beneath(ctx, s.transparent)
		}
	case *inert:
		if a.origin == t.origin {
			return ctx, a
		}
	case *otherSpan:
		if a.inert.origin == t.origin {
			return a.beneath(ctx, s.transparent)
		}
	}
	return t.offForeign(ctx, s)
}

// offForeign is off where the current span is not one of t's provider, or is a span context
// without a span.
func (t *gatedTracer) offForeign(ctx context.Context, s *site) (context.Context, trace.Span) {
	above := underlying(trace.SpanFromContext(ctx))
	sc := above.SpanContext()
	if !sc.IsValid() && !above.IsRecording() {
		s.markRoot()
		return ctx, &t.origin.provider.none
	}
	c := &inertContext{Context: ctx, inert: inert{t.origin, above}}
	if s.transparent && !sc.IsRemote() && !isBare(above) {
		return ctx, &c.inert
	}
	return c, &c.inert
}

// detach returns what a site that is off and was to start a new trace hands back: what is
// beneath it must not join the trace above.
func (t *gatedTracer) detach(ctx context.Context, above any) (context.Context, trace.Span) {
	none := &t.origin.provider.none
	// Not just if above is valid: the SDK joins a span context that has a trace ID only.
	if above != nil && above != any(none) {
		ctx = trace.ContextWithSpan(ctx, none)
	}
	return ctx, none
}

// startConfig returns what the options say of a span's kind and root. Options that can say
// nothing of these are left out, since evaluating attributes allocates: they are options of an
// event as well, as timestamps and stack traces are.
func startConfig(opts []trace.SpanStartOption) trace.SpanConfig {
	var buf [4]trace.SpanStartOption
	asked := buf[:0]
	for _, opt := range opts {
		if _, ok := opt.(trace.EventOption); !ok {
			asked = append(asked, opt)
		}
	}
	return trace.NewSpanStartConfig(asked...)
}
