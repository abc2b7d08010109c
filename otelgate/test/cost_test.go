// SPDX-License-Identifier: Apache-2.0

//go:build !race

package test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
)

// The race detector allocates; without it, these are the package's claims.
func TestAllocations(t *testing.T) {
	f := newFixture(t, on)
	gated, s := f.of(on).Start(t.Context(), "above")
	defer s.End()
	tracer := f.of(off)
	inert, _ := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), remote(t)), "off")

	for name, ctx := range map[string]context.Context{
		"no span":              t.Context(),
		"a gated span":         gated,
		"an inert span":        inert,
		"a gated span, deeper": context.WithValue(gated, key{}, 1),
	} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, s := tracer.Start(ctx, "off")
			s.End()
		}), name)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if f.gate.On(off) {
			_, s := tracer.Start(gated, "off", trace.WithSpanKind(trace.SpanKindServer))
			s.End()
		}
	}), "guarded")
}

func TestSpanThatIsOnAllocatesAtMostTwiceMore(t *testing.T) {
	f := newFixture(t, on)
	f.exported.Reset()
	count := func(tracer trace.Tracer) float64 {
		ctx, above := tracer.Start(context.Background(), "above")
		defer above.End()
		return testing.AllocsPerRun(100, func() { tracer.Start(ctx, "s") })
	}
	bare, through := count(f.sdk.Tracer("bare")), count(f.of(on))
	assert.LessOrEqual(t, through, bare+2)
}
