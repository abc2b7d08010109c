// SPDX-License-Identifier: Apache-2.0

//go:build !race

package test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelgate"
)

// The allocations that the package's documentation states; the race detector adds to them.
func TestAllocationsOfASiteThatIsOff(t *testing.T) {
	f := newFixture(t, on)
	gated, s := f.tracerOf(on).Start(t.Context(), "above")
	defer s.End()
	raw, s := f.sdk.Tracer("raw").Start(t.Context(), "above")
	defer s.End()
	tracer, transparent := f.tracerOf(off), f.Group(off).Transparent().Tracer("test")
	distant := trace.ContextWithRemoteSpanContext(t.Context(), remote(t))
	inert, _ := tracer.Start(distant, "off")
	deeper := context.WithValue(gated, key{}, 1)
	never := gatedOver(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	unsampled, _ := never.Group(on).Tracer("t").Start(t.Context(), "above")

	for _, tt := range []struct {
		name                       string
		ctx                        context.Context
		start, transparent, withDo float64
	}{
		{"no span", t.Context(), 0, 0, 0},
		{"an invalid span context", trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContext{}), 0, 0, 0},
		{"a gated span", gated, 0, 0, 0},
		{"a gated span, deeper", deeper, 1, 0, 0},
		{"an inert span", inert, 0, 0, 0},
		{"an inert span, deeper", context.WithValue(inert, key{}, 1), 0, 0, 0},
		{"a raw span", raw, 1, 1, 1},
		{"a remote span context", distant, 1, 1, 1},
	} {
		count := func(tracer trace.Tracer) float64 {
			return testing.AllocsPerRun(100, func() {
				_, s := tracer.Start(tt.ctx, "off")
				s.End()
			})
		}
		assert.Equal(t, tt.start, count(tracer), tt.name)
		assert.Equal(t, tt.transparent, count(transparent), "%s, transparent", tt.name)
		assert.Equal(t, tt.withDo, testing.AllocsPerRun(100, func() {
			_ = otelgate.Do(tt.ctx, tracer, "off", func(context.Context, trace.Span) error { return nil })
		}), "%s, Do", tt.name)
	}
	for _, tracer := range []trace.Tracer{never.Group(off).Tracer("t"), never.Group(off).Transparent().Tracer("t")} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { tracer.Start(unsampled, "off") }), "a gated span, not sampled")
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if f.gate.On(off) {
			_, s := tracer.Start(gated, "off", trace.WithSpanKind(trace.SpanKindServer))
			s.End()
		}
	}), "guarded")
}

func TestOptionsAreNotCopiedBySitesThatAreOff(t *testing.T) {
	f := newFixture(t, on, otelgate.HTTPRules(off, off))
	gated, s := f.tracerOf(on).Start(t.Context(), "above")
	defer s.End()
	opts := []trace.SpanStartOption{
		trace.WithAttributes(attribute.String("a", "b"), attribute.Int("c", 1)),
		trace.WithSpanKind(trace.SpanKindServer),
	}
	for _, tracer := range []trace.Tracer{f.tracerOf(off), f.Tracer("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { tracer.Start(gated, "off", opts...) }))
	}
}

func TestAllocationsOfASpanThatIsOn(t *testing.T) {
	f := newFixture(t, on)
	f.sdk.UnregisterSpanProcessor(f.processor)
	count := func(tracer trace.Tracer, parent func(context.Context) context.Context) float64 {
		ctx, above := tracer.Start(context.Background(), "above")
		defer above.End()
		ctx = parent(ctx)
		return testing.AllocsPerRun(100, func() {
			_, s := tracer.Start(ctx, "s")
			s.End()
		})
	}
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	unsampled, err := otelgate.NewTracerProvider(never, f.gate)
	require.NoError(t, err)
	for _, tt := range []struct {
		name   string
		parent func(context.Context) context.Context
		more   float64
	}{
		{"no span", func(context.Context) context.Context { return context.Background() }, 2},
		{"a span", func(ctx context.Context) context.Context { return ctx }, 2},
		{"a span, deeper", func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) }, 3},
	} {
		assert.LessOrEqual(t, count(f.tracerOf(on), tt.parent), count(f.sdk.Tracer("bare"), tt.parent)+tt.more, tt.name)
		assert.LessOrEqual(t, count(unsampled.Group(on).Tracer("t"), tt.parent), count(never.Tracer("bare"), tt.parent)+tt.more, "%s, not sampled", tt.name)
	}
}

func TestTracerOfAKnownScopeAllocatesNothing(t *testing.T) {
	f := newFixture(t, on, otelgate.HTTPRules(on, off))
	options := []trace.TracerOption{trace.WithInstrumentationVersion("1.2.3"), trace.WithSchemaURL("https://opentelemetry.io/schemas/1.30.0")}
	for _, p := range []trace.TracerProvider{f, f.Group(on)} {
		for _, opts := range [][]trace.TracerOption{nil, options} {
			first := p.Tracer("scope", opts...)
			assert.Zero(t, testing.AllocsPerRun(100, func() { p.Tracer("scope", opts...) }))
			assert.Same(t, first, p.Tracer("scope", opts...))
		}
	}
}

func TestSiteThatIsOffWalksTheContextOnce(t *testing.T) {
	f := newFixture(t, on)
	parents := localParents(t, f)
	parents["nothing"] = t.Context()
	parents["an invalid span context"] = trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContext{})
	parents["a remote span context"] = trace.ContextWithRemoteSpanContext(t.Context(), remote(t))
	for name, parent := range parents {
		for opts := range optionLists() {
			w := &countingContext{Context: parent}
			var ctx context.Context = w
			for range 30 {
				ctx = context.WithValue(ctx, key{}, 1)
			}
			f.tracerOf(off).Start(ctx, "off", opts...)
			assert.Equal(t, 1, w.n, name)
		}
	}
}
