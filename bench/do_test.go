// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// Bias.
//
// Measured: a function that returns nil, called directly, through Do whose site is off, and
// through Do over OpenTelemetry's no-op, which Do can't know to be off. The function does
// nothing and captures nothing; one that captures variables is allocated by its caller,
// whoever calls it.
//
// What the compiler might have removed: the direct call, if it knew the function. It is a
// package-level variable, which Go does not see through.
func BenchmarkDo(b *testing.B) {
	ctx := context.Background()
	b.Run("the function by itself", func(b *testing.B) {
		var span trace.Span
		b.ReportAllocs()
		for b.Loop() {
			if err := work(ctx, span); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("spangate, off, no parent", func(b *testing.B) {
		t, _ := gated(b)
		do(b, t, ctx)
	})
	b.Run("spangate, off, gated parent", func(b *testing.B) {
		t, g := gated(b)
		do(b, t, gatedParent(b, t, g))
	})
	b.Run("spangate, on", func(b *testing.B) {
		t, g := gated(b)
		g.Enable(spangate.BitRollout)
		do(b, t, ctx)
	})
	b.Run("Do over trace/noop", func(b *testing.B) { do(b, noopTracer(), ctx) })
}

var work = func(context.Context, trace.Span) error { return nil }

func do(b *testing.B, t trace.Tracer, ctx context.Context) {
	b.Helper()
	for range warmUp {
		if err := otelgate.Do(ctx, t, "site", work); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := otelgate.Do(ctx, t, "site", work); err != nil {
			b.Fatal(err)
		}
	}
}
