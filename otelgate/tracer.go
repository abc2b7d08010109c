// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// gatedTracer is the base's tracer of one scope, behind a gate.
type gatedTracer struct {
	embedded.Tracer

	base  trace.Tracer
	root  *TracerProvider
	sites sites
}

var _ trace.Tracer = (*gatedTracer)(nil)

// Start starts a span if its group is on. If it is off, it returns an inert span, and a
// context that holds it; the package's doc has the cases. A nil ctx counts as
// [context.Background], as in the SDK.
func (t *gatedTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := t.sites.of(name, opts)
	return t.startAt(s, s.transparent, ctx, name, opts)
}

// Enabled reports whether some span that the tracer could start now would be on. It is false
// if each would be inert, whatever its name and kind. It is OpenTelemetry's Tracer.Enabled.
func (t *gatedTracer) Enabled(ctx context.Context) bool {
	if base, ok := t.base.(interface {
		Enabled(ctx context.Context) bool
	}); ok && !base.Enabled(ctx) {
		return false
	}
	return t.sites.anyOn()
}

// startTransparent is Start for code that hands its context on as it was while it is off.
func (t *gatedTracer) startTransparent(ctx context.Context, name string, opts []trace.SpanStartOption) (context.Context, trace.Span) {
	return t.startAt(t.sites.of(name, opts), true, ctx, name, opts)
}

func (t *gatedTracer) startAt(s *site, transparent bool, ctx context.Context, name string, opts []trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	if !s.on() {
		return t.off(ctx, opts, transparent)
	}
	next, span := t.base.Start(t.shown(ctx), name, opts...)
	if _, off := span.(*inert); off { // the base is gated too, and its gate is off
		return t.off(ctx, opts, transparent)
	}
	return t.wrap(next, span)
}

// shown returns ctx as the base is to see it: with its own span as the current one in place
// of a gated or an inert one. The SDK counts a span's children, and samplers and span
// processors look at its parent, where that is of the SDK's own type.
func (t *gatedTracer) shown(ctx context.Context) context.Context {
	above := ctx.Value(spanKey)
	if s := startedOf(above); s != nil {
		if ctx == s.ctx && s.inert.root == t.root {
			return s.base
		}
		return trace.ContextWithSpan(ctx, underlying(s.inert.of))
	}
	if s, ok := above.(*inert); ok {
		return trace.ContextWithSpan(ctx, underlying(s.of))
	}
	return ctx
}

// off returns what a site that is off hands back.
func (t *gatedTracer) off(ctx context.Context, opts []trace.SpanStartOption, transparent bool) (context.Context, trace.Span) {
	above, ok := ctx.Value(spanKey).(trace.Span)
	if !ok {
		return ctx, &t.root.none
	}
	if len(opts) > 0 && newRoot(opts) {
		return t.detach(ctx, above)
	}
	switch s := above.(type) {
	case *inert:
		if s.root == t.root {
			return ctx, s
		}
	case *sdkSpan:
		if s.inert.root == t.root {
			return s.started.beneath(ctx, transparent)
		}
	case *otherSpan:
		if s.inert.root == t.root {
			return s.started.beneath(ctx, transparent)
		}
	}
	// The span is another provider's, or a span context without a span.
	of := underlying(above)
	sc := of.SpanContext()
	if !sc.IsValid() {
		return ctx, &t.root.none
	}
	c := &inertContext{Context: ctx, inert: inert{Span: noSpan, root: t.root, of: of}}
	if transparent && !sc.IsRemote() && !isBare(of) {
		return ctx, &c.inert
	}
	return c, &c.inert
}

// detach returns what a site that is off and was to start a new trace hands back: what is
// beneath it must not join the trace above.
func (t *gatedTracer) detach(ctx context.Context, above trace.Span) (context.Context, trace.Span) {
	// Not just if it is valid: the SDK joins a span context that has a trace ID only.
	if !above.SpanContext().Equal(trace.SpanContext{}) {
		ctx = trace.ContextWithSpan(ctx, &t.root.none)
	}
	return ctx, &t.root.none
}

// newRoot reports whether one of the options is [trace.WithNewRoot].
func newRoot(opts []trace.SpanStartOption) bool {
	for i := range opts {
		if isPlain(opts[i]) {
			continue
		}
		if c := trace.NewSpanStartConfig(opts[i]); c.NewRoot() {
			return true
		}
	}
	return false
}

// kindOf returns the kind of span that the options ask for.
func kindOf(opts []trace.SpanStartOption) trace.SpanKind {
	kind := trace.SpanKindUnspecified
	for i := range opts {
		if isPlain(opts[i]) {
			continue
		}
		if c := trace.NewSpanStartConfig(opts[i]); c.SpanKind() != trace.SpanKindUnspecified {
			kind = c.SpanKind()
		}
	}
	return trace.ValidateSpanKind(kind)
}

// isPlain reports whether an option can set neither kind nor root: attributes, a timestamp and
// stack traces are options of an event as well. They are not evaluated, since that allocates.
func isPlain(opt trace.SpanStartOption) bool {
	_, ok := opt.(trace.EventOption)
	return ok || opt == nil
}
