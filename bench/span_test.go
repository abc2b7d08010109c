// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: Start and End of a span that is on, sampled and recorded, without attributes and
// with a processor that drops it: what the gate adds to the SDK, at its most visible. A
// batching processor, an exporter and attributes cost as much on both sides and would make
// the ratio smaller.
//
// Where a value stands in the context between the span and the one above, the gate allocates
// once more; those rows show it.
//
// Not measured: what reads the span in between. Through the gate it is a wrapper, so each
// method is one promoted call further away.
//
// The SDK allocates a span of about 600 bytes, and how often the collector runs depends on
// how full the heap is: these rows spread more than the others.
//
// What the compiler might have removed: nothing; both calls go through interfaces.
func BenchmarkSpanOn(b *testing.B) {
	b.Run("SDK, no parent", func(b *testing.B) {
		startEnd(b, sdk(sdktrace.AlwaysSample()), context.Background())
	})
	b.Run("through the gate, no parent", func(b *testing.B) {
		t, g := gated(b)
		g.Enable(spangate.BitRollout)
		startEnd(b, t, context.Background())
	})
	b.Run("SDK, under a span", func(b *testing.B) {
		t := sdk(sdktrace.AlwaysSample())
		startEnd(b, t, parent(b, t))
	})
	b.Run("through the gate, under a span", func(b *testing.B) {
		t, g := gated(b)
		g.Enable(spangate.BitRollout)
		startEnd(b, t, parent(b, t))
	})
	b.Run("SDK, a value beneath a span", func(b *testing.B) {
		t := sdk(sdktrace.AlwaysSample())
		startEnd(b, t, deeper(parent(b, t)))
	})
	b.Run("through the gate, a value beneath a span", func(b *testing.B) {
		t, g := gated(b)
		g.Enable(spangate.BitRollout)
		startEnd(b, t, deeper(parent(b, t)))
	})
}

// Bias.
//
// Measured: a value that a program put in the context before the first of ten nested spans,
// looked up beneath the last. The SDK makes one context a span, the gate one more; a program
// puts values in between, which cost both the same.
func BenchmarkValue(b *testing.B) {
	b.Run("SDK", func(b *testing.B) { value(b, sdk(sdktrace.AlwaysSample())) })
	b.Run("through the gate", func(b *testing.B) {
		t, g := gated(b)
		g.Enable(spangate.BitRollout)
		value(b, t)
	})
}

func value(b *testing.B, t trace.Tracer) {
	b.Helper()
	ctx := deeper(context.Background())
	for range 10 {
		ctx, _ = t.Start(ctx, "site")
	}
	for b.Loop() {
		ctx.Value(valueKey{})
	}
}

// Bias.
//
// Measured: Tracer for one scope, without options, which was asked for before. Some
// instrumentation calls it for every span.
func BenchmarkTracer(b *testing.B) {
	b.Run("SDK", func(b *testing.B) { tracer(b, sdkProvider(sdktrace.AlwaysSample())) })
	b.Run("through the gate", func(b *testing.B) { tracer(b, gatedProvider(b, new(spangate.Gate))) })
}

func tracer(b *testing.B, p trace.TracerProvider) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		p.Tracer("bench")
	}
}

func startEnd(b *testing.B, t trace.Tracer, ctx context.Context) {
	b.Helper()
	if _, span := t.Start(ctx, "site"); !span.IsRecording() {
		b.Fatal("the span does not record")
	}
	once := func() {
		_, span := t.Start(ctx, "site")
		span.End()
	}
	for range warmUp {
		once()
	}
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}
