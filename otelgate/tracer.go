// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// tracer is the base's tracer of one scope, behind a gate.
type tracer struct {
	embedded.Tracer

	base  trace.Tracer
	root  *TracerProvider
	one   switcher // decides for every kind of span, unless
	kinds *byKind  // each kind has its own
}

var _ trace.Tracer = (*tracer)(nil)

// Start starts a span if its group is on, and is transparent if it is off; the package's
// doc has the cases. A nil ctx counts as [context.Background], as in the SDK.
func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	if t.kinds != nil || len(opts) > 0 {
		return t.startWith(ctx, name, opts)
	}
	if t.one.on() {
		return t.start(ctx, name, nil)
	}
	switch s := ctx.Value(spanKey).(type) {
	case *span:
		if s.beneath.root == t.root {
			return ctx, &s.beneath
		}
	case nil:
		return ctx, &t.root.none
	}
	return t.pass(ctx)
}

// startWith is Start where the options or the span's kind matter.
func (t *tracer) startWith(ctx context.Context, name string, opts []trace.SpanStartOption) (context.Context, trace.Span) {
	on, ok := t.one.on(), true
	if t.kinds != nil {
		on, ok = t.kinds.agree()
	}
	if ok && on {
		return t.start(ctx, name, opts)
	}
	// There is no cheaper way to see the kind, or that a new root is asked for, than to
	// evaluate all options.
	config := trace.NewSpanStartConfig(opts...)
	if !ok && t.kinds[trace.ValidateSpanKind(config.SpanKind())].on() {
		return t.start(ctx, name, opts)
	}
	if config.NewRoot() {
		return t.cut(ctx)
	}
	return t.pass(ctx)
}

// start starts a span of the base and wraps it.
func (t *tracer) start(ctx context.Context, name string, opts []trace.SpanStartOption) (context.Context, trace.Span) {
	// The base is shown its own span, if one of ours is above: the SDK counts a span's
	// children, and samplers and span processors look at its parent, where that is of the
	// SDK's own type.
	shown := ctx
	above, wrapped := ctx.Value(spanKey).(*span)
	if wrapped {
		shown = trace.ContextWithSpan(ctx, above.Span)
	}
	next, base := t.base.Start(shown, name, opts...)
	if _, off := base.(*inert); off { // the base is gated as well, and its gate is off
		if wrapped && next == shown {
			next = ctx
		}
		return t.pass(next)
	}
	c := &started{Context: next, span: span{Span: base, beneath: newInert(t.root, base)}}
	return c, &c.span
}

// pass is a site that is off: what is beneath it joins the span above it.
func (t *tracer) pass(ctx context.Context) (context.Context, trace.Span) {
	switch s := ctx.Value(spanKey).(type) {
	case nil:
		return ctx, &t.root.none
	case *span:
		if s.beneath.root == t.root {
			return ctx, &s.beneath
		}
	case *inert:
		if s.root == t.root {
			return ctx, s
		}
	}
	return t.passForeign(ctx)
}

// passForeign is pass under a span that is not of this provider.
func (t *tracer) passForeign(ctx context.Context) (context.Context, trace.Span) {
	above := trace.SpanFromContext(ctx)
	sc := above.SpanContext()
	if !sc.IsValid() {
		return ctx, &t.root.none
	}
	s := newInert(t.root, above)
	if sc.IsRemote() {
		// The span that propagation leaves in a context answers TracerProvider with one
		// that does nothing; what looks there would lose its spans.
		ctx = trace.ContextWithSpan(ctx, &s)
	}
	return ctx, &s
}

// cut is a site that is off and was to start a new trace: what is beneath it must not join
// the trace above.
func (t *tracer) cut(ctx context.Context) (context.Context, trace.Span) {
	none := &t.root.none
	// Not just a context that is valid: the SDK joins one that has a trace ID only.
	if !trace.SpanContextFromContext(ctx).Equal(trace.SpanContext{}) {
		ctx = trace.ContextWithSpan(ctx, none)
	}
	return ctx, none
}
