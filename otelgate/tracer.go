// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"cmp"
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/spangate/spangate"
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
	if gate := s.gate.Load(); gate != nil { // not &&, for which the compiler computes a bool
		if !gate.On(s.group) {
			if spangate.Compiled && gate.Reach()&s.group != 0 {
				return t.startSpecial(ctx, current, name, opts, s)
			}
			if current == nil {
				if t.origin.plainRoots && len(opts) == 0 { // as off does, but faster
					s.countWithheld()
					s.markRoot()
					return ctx, &t.origin.provider.none
				}
				if !t.origin.oneTrace && !t.origin.armed() { // an override has no effect. Not ||, which would slow the former case
					s.countWithheld()
					s.markRoot()
					return ctx, &t.origin.provider.none
				}
			} else if span, ok := current.(*sdkSpan); ok && span.inert.origin == t.origin && len(opts) == 0 {
				s.countWithheld()
				return span.beneath(ctx, s.transparent || t.transparent) // as off does, but faster
			}
			if t.origin.overrides != nil && t.origin.armed() {
				return t.startSpecial(ctx, current, name, opts, s)
			}
			s.countWithheld()
			return t.off(ctx, current, opts, s)
		}
	}
	// Not a function of its own: so many arguments cost a span that is on 1 %.
	baseCtx := ctx
	if span, ok := current.(*sdkSpan); ok && span.inert.origin == t.origin {
		if len(opts) > 0 && t.origin.special() { // the options may include WithNewRoot
			return t.startSpecial(ctx, current, name, opts, s)
		}
		if same(span.ctx, ctx) {
			baseCtx = span.baseCtx // the common case, without an allocation
		} else {
			baseCtx = t.baseContext(ctx, current)
		}
	} else if t.origin.special() {
		return t.startSpecial(ctx, current, name, opts, s)
	} else if current != nil {
		baseCtx = t.baseContext(ctx, current)
	}
	next, baseSpan := t.base.Start(baseCtx, name, opts...)
	if rw, ok := baseSpan.(sdktrace.ReadWriteSpan); ok && next != nil {
		s.started.add()
		return t.wrap(next, rw)
	}
	return t.onOther(ctx, opts, s, next, baseSpan)
}

// wrap returns what Start returns for a span of the SDK's. baseCtx and baseSpan are what the base's
// Start returned.
func (t *gatedTracer) wrap(baseCtx context.Context, baseSpan sdktrace.ReadWriteSpan) (context.Context, trace.Span) {
	span := &sdkSpan{baseSpan, started{inert: inert{origin: t.origin}, baseCtx: baseCtx}}
	span.ctx = trace.ContextWithSpan(baseCtx, span)
	span.inert.above = span
	return span.ctx, span
}

// onOther is wrap for a base span that is no sdktrace.ReadWriteSpan: one of another SDK, or one that
// the sampler dropped. The base may also be gated, or faulty: it must not make its callers panic.
// next and baseSpan are what its Start returned.
func (t *gatedTracer) onOther(ctx context.Context, opts []trace.SpanStartOption, s *site, next context.Context, baseSpan trace.Span) (context.Context, trace.Span) {
	if _, off := baseSpan.(*inert); off || baseSpan == nil {
		if s.gate.Load() == nil {
			s = ungated
		}
		return t.off(ctx, ctx.Value(spanKey), opts, s)
	}
	s.started.add()
	next = cmp.Or(next, ctx)
	if rw, ok := baseSpan.(sdktrace.ReadWriteSpan); ok {
		return t.wrap(next, rw)
	}
	span := &otherSpan{baseSpan, started{inert: inert{origin: t.origin}, baseCtx: next}}
	span.ctx = trace.ContextWithSpan(next, span)
	span.inert.above = span
	return span.ctx, span
}

// Enabled reports whether a span that is started now could be on, under any name and kind. It is
// false if every span would be inert, or if the base's tracer has Enabled and that is false. It
// is true if an override could turn the span on, which only Start asks it. It is OpenTelemetry's
// Tracer.Enabled. A nil ctx counts as [context.Background].
func (t *gatedTracer) Enabled(ctx context.Context) bool {
	if !t.sites.any((*site).on) && !(t.sites.any((*site).inReach) && t.mayOverride(ctx)) {
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
			return s.baseCtx // without an allocation, as in Start
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
	if isNewRoot(opts) {
		s.markRoot()
		return t.detach(ctx, current)
	}
	if current == nil {
		return t.offRoot(ctx, s, false)
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
			return t.offRoot(ctx, s, sc.HasTraceID())
		}
		bare = sc.IsRemote() || isBare(above)
	}
	c := &inertContext{Context: ctx, inert: inert{t.origin, above}}
	if (s.transparent || t.transparent) && !bare {
		return ctx, &c.inert
	}
	return c, &c.inert
}

// offRoot is off under no span. Spans beneath begin a trace unless the context has a trace ID.
func (t *gatedTracer) offRoot(ctx context.Context, s *site, hasTraceID bool) (context.Context, trace.Span) {
	s.markRoot()
	if t.origin.oneTrace && !hasTraceID {
		if sc := t.origin.oneTraceOf(ctx); sc.HasTraceID() {
			return t.inTrace(ctx, sc)
		}
	}
	return ctx, &t.origin.provider.none
}

// detach returns what the Start of a site that is off returns if the caller gave WithNewRoot:
// spans beneath the site must not join the trace above, nor have its override.
func (t *gatedTracer) detach(ctx context.Context, current any) (context.Context, trace.Span) {
	if spangate.OverrideFromContext(ctx) != nil {
		ctx = spangate.ContextWithOverride(ctx, nil)
	}
	if sc := t.origin.oneTraceOf(ctx); sc.HasTraceID() {
		return t.inTrace(ctx, sc)
	}
	none := &t.origin.provider.none
	// Also if current is not valid: the SDK joins a span context that has only a trace ID.
	if current != nil && current != any(none) {
		ctx = trace.ContextWithSpan(ctx, none)
	}
	return ctx, none
}

// isNewRoot reports whether the options include WithNewRoot.
func isNewRoot(opts []trace.SpanStartOption) bool {
	if len(opts) == 0 {
		return false
	}
	c := startConfig(opts)
	return c.NewRoot()
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
