// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate/otelgate"
)

// above is a context in which a site that is off is started.
type above struct {
	ctx  context.Context
	bare bool                     // a span context without a span
	own  *otelgate.TracerProvider // of the inert span in ctx, if that is inert
}

// contexts are all kinds of context. outer is a provider over f's; the base of gatedUnsampled
// samples nothing.
func contexts(t *testing.T, f, other *fixture, outer, gatedUnsampled *otelgate.TracerProvider) map[string]above {
	unsampled := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	none := t.Context()
	under := func(ctx context.Context, tracer trace.Tracer, opts ...trace.SpanStartOption) context.Context {
		ctx, s := tracer.Start(ctx, "above", opts...)
		t.Cleanup(func() { s.End() })
		return ctx
	}
	distant := trace.ContextWithRemoteSpanContext(none, remote(t))
	gated, theirs := under(none, f.tracerOf(on)), under(none, other.tracerOf(on))
	inert := under(gated, f.tracerOf(off))
	noID := trace.SpanContext{}
	return map[string]above{
		"none":                     {ctx: none},
		"raw":                      {ctx: under(none, f.sdk.Tracer("raw"))},
		"raw, not sampled":         {ctx: under(none, unsampled.Tracer("raw"))},
		"gated":                    {ctx: gated},
		"gated, not sampled":       {ctx: under(none, gatedUnsampled.Group(on).Tracer("t"))},
		"ungated":                  {ctx: under(none, f.Tracer("no rule"))},
		"inert":                    {ctx: inert, own: f.TracerProvider},
		"inert, remote":            {ctx: under(distant, f.tracerOf(off)), bare: true, own: f.TracerProvider},
		"new root":                 {ctx: under(gated, f.tracerOf(off), trace.WithNewRoot())},
		"remote":                   {ctx: distant, bare: true},
		"bare":                     {ctx: trace.ContextWithSpanContext(none, remote(t).WithRemote(false)), bare: true},
		"remote, of another type":  {ctx: trace.ContextWithSpan(none, labelsSpan{trace.SpanFromContext(distant)}), bare: true},
		"bare no-op":               {ctx: bareNoop(t), bare: true},
		"no-op":                    {ctx: trace.ContextWithSpan(none, noop.Span{})},
		"nil":                      {ctx: trace.ContextWithSpan(gated, nil)},
		"invalid":                  {ctx: trace.ContextWithSpanContext(none, noID)},
		"invalid, remote":          {ctx: trace.ContextWithRemoteSpanContext(none, noID)},
		"a trace ID, no span ID":   {ctx: trace.ContextWithSpanContext(none, noID.WithTraceID(trace.TraceID{9}))},
		"another provider's":       {ctx: theirs},
		"another's inert":          {ctx: under(theirs, other.tracerOf(off)), own: other.TracerProvider},
		"another's inert, remote":  {ctx: under(distant, other.tracerOf(off)), bare: true, own: other.TracerProvider},
		"stacked":                  {ctx: under(none, outer.Group(on).Tracer("t"))},
		"stacked, inert":           {ctx: under(gated, outer.Group(off).Tracer("t")), own: outer},
		"moved to another context": {ctx: trace.ContextWithSpan(distant, trace.SpanFromContext(gated))},
		"moved, inert":             {ctx: trace.ContextWithSpan(distant, trace.SpanFromContext(inert)), own: f.TracerProvider},
	}
}

// countingContext is a context that counts the calls of Value.
type countingContext struct {
	context.Context
	n int
}

func (w *countingContext) Value(key any) any { w.n++; return w.Context.Value(key) }

// derivations derive a context with the same span.
func derivations(t *testing.T) map[string]func(context.Context) context.Context {
	stopped := func(ctx context.Context, cancel context.CancelFunc) context.Context { t.Cleanup(cancel); return ctx }
	return map[string]func(context.Context) context.Context{
		"as it is":      func(ctx context.Context) context.Context { return ctx },
		"WithValue":     func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) },
		"WithCancel":    func(ctx context.Context) context.Context { return stopped(context.WithCancel(ctx)) },
		"WithTimeout":   func(ctx context.Context) context.Context { return stopped(context.WithTimeout(ctx, time.Hour)) },
		"WithoutCancel": context.WithoutCancel,
		"own type":      func(ctx context.Context) context.Context { return &countingContext{Context: ctx} },
	}
}

// The table of the package's documentation, for every kind of context and of site. The span above
// does not change, and a span that is on beneath the site has the same parent as without the site.
func TestEveryKindOfOffSiteInEveryKindOfContext(t *testing.T) {
	f, other := newFixture(t, on), newFixture(t, on)
	outer := gatedOver(t, f.TracerProvider)
	unsampled := gatedOver(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	for _, p := range []*otelgate.TracerProvider{f.TracerProvider, outer, unsampled} {
		start := func(tracer trace.Tracer, opts ...trace.SpanStartOption) func(context.Context) (context.Context, trace.Span) {
			return func(ctx context.Context) (context.Context, trace.Span) { return tracer.Start(ctx, "off", opts...) }
		}
		tracer := p.Group(off).Tracer("t")
		for site, do := range map[string]func(context.Context) (context.Context, trace.Span){
			"plain":       start(tracer),
			"options":     start(tracer, trace.WithAttributes(), trace.WithSpanKind(trace.SpanKindServer)),
			"new root":    start(tracer, trace.WithNewRoot()),
			"transparent": start(p.Group(off).Transparent().Tracer("t")),
			"Do": func(ctx context.Context) (got context.Context, s trace.Span) {
				_ = otelgate.Do(ctx, tracer, "off", func(ctx context.Context, span trace.Span) error { got, s = ctx, span; return nil })
				return got, s
			},
		} {
			for kind, above := range contexts(t, f, other, outer, unsampled) {
				for derived, derive := range derivations(t) {
					name := site + " site, " + kind + ", " + derived
					ctx := derive(above.ctx)
					span := trace.SpanFromContext(ctx)
					sc, recording := span.SpanContext(), span.IsRecording()
					got, s := do(ctx)

					newRoot, transparent := site == "new root", site == "transparent" || site == "Do"
					want := sc
					if newRoot || !sc.IsValid() {
						want = trace.SpanContext{}
					}
					assert.True(t, s.SpanContext().Equal(want), name)
					assert.False(t, s.IsRecording(), name)
					assert.Same(t, p, s.TracerProvider(), name)
					switch {
					case newRoot:
						assert.Equal(t, trace.SpanContext{}, trace.SpanContextFromContext(got), name)
					case !sc.IsValid(), above.own == p, transparent && !above.bare:
						assert.True(t, ctx == got, name)
					default:
						assert.Same(t, s, trace.SpanFromContext(got), name)
					}
					assert.Equal(t, ctx.Value(key{}), got.Value(key{}), name)

					s.SetName("changed")
					s.End()
					assert.Equal(t, recording, span.IsRecording(), name)

					_, child := p.Group(on).Tracer("t").Start(got, "child")
					if rw, ok := child.(sdktrace.ReadOnlySpan); ok {
						parent := sc
						if newRoot {
							parent = trace.SpanContext{}
						}
						assert.True(t, rw.Parent().Equal(parent), name)
					} else {
						require.True(t, p == unsampled || !sc.IsSampled(), name)
						assert.Equal(t, sc.HasTraceID() && !newRoot, child.SpanContext().TraceID() == sc.TraceID(), "%s: not sampled", name)
					}
					child.End()
				}
			}
		}
	}
}
