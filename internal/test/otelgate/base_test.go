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
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// baseOf is a base with one tracer, which may be nil.
type baseOf struct {
	embedded.TracerProvider
	tracer trace.Tracer
}

func (b baseOf) Tracer(string, ...trace.TracerOption) trace.Tracer { return b.tracer }

// funcTracer is a tracer whose Start is a function.
type funcTracer struct {
	embedded.Tracer
	start func(context.Context) (context.Context, trace.Span)
}

func (t funcTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.start(ctx)
}

func gatedOver(t *testing.T, base trace.TracerProvider) *otelgate.TracerProvider {
	t.Helper()
	p, err := otelgate.NewTracerProvider(base, spangate.NewGate(on))
	require.NoError(t, err)
	return p
}

func TestFaultyBaseDoesNotMakeCallersPanic(t *testing.T) {
	f := newFixture(t, on)
	startSDK := func(ctx context.Context) trace.Span { _, s := f.sdk.Tracer("raw").Start(ctx, "raw"); return s }
	parent, above := f.sdk.Tracer("raw").Start(t.Context(), "parent")
	defer above.End()
	for name, tt := range map[string]struct {
		tracer   trace.Tracer
		recorded bool
	}{
		"no tracer":                   {nil, false},
		"no span":                     {funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) { return ctx, nil }}, false},
		"no context":                  {funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) { return nil, startSDK(ctx) }}, true},
		"no context for a no-op span": {funcTracer{start: func(context.Context) (context.Context, trace.Span) { return nil, noop.Span{} }}, false},
		"nothing":                     {funcTracer{start: func(context.Context) (context.Context, trace.Span) { return nil, nil }}, false},
	} {
		p := gatedOver(t, baseOf{tracer: tt.tracer})
		for _, ctx := range []context.Context{t.Context(), parent} {
			f.exported.Reset()
			got, s := p.Group(on).Tracer("t").Start(context.WithValue(ctx, key{}, 1), "s")
			assert.Equal(t, 1, got.Value(key{}), name)
			assert.Equal(t, tt.recorded, s.IsRecording(), name)
			if name == "no span" || name == "nothing" {
				assert.True(t, s.SpanContext().Equal(trace.SpanContextFromContext(ctx)), "%s: as at a site that is off", name)
			}
			for _, g := range []spangate.Mask{on, off} {
				_, below := p.Group(g).Tracer("t").Start(got, "below")
				below.End()
			}
			require.NoError(t, otelgate.Do(got, p.Group(on).Tracer("t"), "do", func(context.Context, trace.Span) error { return nil }), name)
			s.End()
			assert.True(t, above.IsRecording(), name)
			if tt.recorded {
				assert.Len(t, f.exported.GetSpans(), 3, name)
			}
		}
	}
}

func TestPanicOfABaseLeavesTheProviderUsable(t *testing.T) {
	f := newFixture(t, on)
	broken := true
	p := gatedOver(t, baseOf{tracer: funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) {
		if broken {
			panic("base")
		}
		return f.sdk.Tracer("raw").Start(ctx, "raw")
	}}})
	ctx, above := f.sdk.Tracer("raw").Start(t.Context(), "above")
	for _, ctx := range []context.Context{t.Context(), ctx} {
		broken = true
		assert.PanicsWithValue(t, "base", func() { p.Group(on).Tracer("t").Start(ctx, "s") })
		broken = false
		_, s := p.Group(on).Tracer("t").Start(ctx, "s")
		assert.True(t, s.IsRecording())
		s.End()
	}
	above.End()
}

// changing is a context with the values of another one, which may be replaced, such as a web
// framework's context over its current request.
type changing struct {
	context.Context
	request context.Context
}

func (c *changing) Value(key any) any {
	if c.request == nil {
		return c.Context.Value(key)
	}
	return c.request.Value(key)
}

// The gate searches such a context for a span of the base. There is none, and the search must end.
func TestStartReturnsInAChangingContextIfTheBasePutsNoSpanInIt(t *testing.T) {
	var own, parent trace.Span = labelsSpan{noop.Span{}}, nil
	plain := gatedOver(t, baseOf{tracer: funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) {
		parent = trace.SpanFromContext(ctx)
		return ctx, own
	}}})
	stacked := gatedOver(t, plain.Group(on))
	for _, p := range []*otelgate.TracerProvider{plain, stacked} {
		c := &changing{Context: t.Context()}
		c.request, _ = p.Group(on).Tracer("t").Start(c, "s")
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Group(on).Tracer("t").Start(c, "below")
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("Start hangs")
		}
		assert.Equal(t, own, parent, "the base sees the span that it returned")
	}
}

// reentrant is a sampler and a span processor that start a span of their own for each span.
type reentrant struct {
	sdktrace.SpanProcessor
	sdktrace.Sampler
	start func(context.Context) // nil while it runs
}

func (r *reentrant) once(ctx context.Context) {
	if start := r.start; start != nil {
		r.start = nil
		start(ctx)
		r.start = start
	}
}

func (r *reentrant) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	r.SpanProcessor.OnStart(ctx, s)
	r.once(ctx)
}

func (r *reentrant) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r.once(p.ParentContext)
	return r.Sampler.ShouldSample(p)
}

func TestSamplerAndProcessorMayStartGatedSpans(t *testing.T) {
	f := newFixture(t, on)
	r := &reentrant{SpanProcessor: f.processor, Sampler: sdktrace.AlwaysSample()}
	p := gatedOver(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r), sdktrace.WithSampler(r)))
	r.start = func(ctx context.Context) {
		for _, g := range []spangate.Mask{off, on} {
			var s trace.Span
			ctx, s = p.Group(g).Tracer("inside").Start(ctx, "inside")
			defer s.End()
		}
	}
	ctx, above := p.Group(on).Tracer("t").Start(t.Context(), "above")
	_, below := p.Group(on).Tracer("t").Start(ctx, "below")
	below.End()
	above.End()

	stubs := f.exported.GetSpans()
	require.Len(t, stubs, 6)
	parents := map[bool]int{}
	for _, s := range stubs {
		if s.Name == "inside" {
			parents[s.Parent.Equal(above.SpanContext())]++
		}
	}
	assert.Equal(t, map[bool]int{true: 2, false: 2}, parents, "the parent is that of the span that starts")
}

// A base may wrap the span of another gated provider and return its context unchanged.
func TestBaseThatWrapsASpanOfAGatedProvider(t *testing.T) {
	f := newFixture(t, on)
	p := gatedOver(t, baseOf{tracer: funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) {
		ctx, s := f.tracerOf(on).Start(ctx, "s")
		return ctx, labelsSpan{s}
	}}})
	ctx, above := p.Group(on).Tracer("t").Start(t.Context(), "above")
	_, below := p.Group(on).Tracer("t").Start(context.WithValue(ctx, key{}, 1), "below")
	below.End()
	above.End()
	stubs := f.exported.GetSpans()
	require.Len(t, stubs, 2)
	assert.Equal(t, above.SpanContext(), stubs[0].Parent)
	assert.Equal(t, 1, stubs[1].ChildSpanCount, "the SDK sees its own span as the parent")
}

// enabledTracer has Enabled, which is true only under the span known.
type enabledTracer struct {
	noop.Tracer
	known trace.Span
}

func (t enabledTracer) Enabled(ctx context.Context) bool {
	return trace.SpanFromContext(ctx) == t.known
}

func TestEnabledPassesTheBasesOwnSpanToTheBase(t *testing.T) {
	f := newFixture(t, on)
	ctx, raw := f.sdk.Tracer("raw").Start(t.Context(), "raw")
	defer raw.End()
	enabled := func(ctx context.Context, known trace.Span) bool {
		p := gatedOver(t, baseOf{tracer: enabledTracer{known: known}})
		return p.Group(on).Tracer("t").(interface{ Enabled(context.Context) bool }).Enabled(ctx)
	}
	inert, _ := f.tracerOf(off).Start(ctx, "off")
	assert.True(t, enabled(ctx, raw))
	assert.True(t, enabled(inert, raw))
	assert.False(t, enabled(t.Context(), raw))
	var none context.Context
	assert.True(t, enabled(none, trace.SpanFromContext(t.Context())), "a nil context counts as Background")
}
