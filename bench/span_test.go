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
// Measured: Start and End of a span that is on, sampled and recorded, without attributes and with a
// processor that drops it. An exporter and attributes cost both sides the same and would make the
// ratio smaller. Where a value is in the context between the span and its parent, the gate allocates
// once more.
//
// Not measured: calls of the span's methods, which through the gate are one promoted call more.
//
// The SDK allocates about 600 bytes a span, and how often the garbage collector runs depends on the
// heap, so these times vary more than others.
func BenchmarkSpanOn(b *testing.B) {
	for _, under := range []struct {
		name       string
		sdk, gated func() context.Context
	}{
		{"no parent", noSpan, noSpan},
		{"under a span", sdkSpan, gatedSpan},
		{"a value beneath a span", deeper(sdkSpan), deeper(gatedSpan)},
	} {
		b.Run("SDK, "+under.name, func(b *testing.B) { startEnd(b, recording(), under.sdk()) })
		b.Run("through the gate, "+under.name, func(b *testing.B) {
			gate.Store(spangate.PresetAll)
			startEnd(b, gatedTracer(), under.gated())
		})
	}
}

func startEnd(b *testing.B, t trace.Tracer, ctx context.Context) {
	if _, span := t.Start(ctx, "site"); !span.IsRecording() {
		b.Fatal("the span does not record")
	}
	measureWarm(b, func(n int) {
		for range n {
			_, span := t.Start(ctx, "site")
			span.End()
		}
	})
}

// BenchmarkValue looks up a value that is in the context above ten nested spans. The SDK makes one
// context a span, and so does the gate for a span started in the context of the one above; values
// in between cost both the same.
func BenchmarkValue(b *testing.B) {
	gate.Store(spangate.PresetAll)
	b.Run("SDK", func(b *testing.B) { value(b, recording()) })
	b.Run("through the gate", func(b *testing.B) { value(b, gatedTracer()) })
}

func value(b *testing.B, t trace.Tracer) {
	ctx := deeper(noSpan)()
	for range 10 {
		ctx, _ = t.Start(ctx, "site")
	}
	measure(b, func(n int) {
		for range n {
			if ctx.Value(valueKey{}) == nil {
				b.Fatal("the value is lost")
			}
		}
	})
}

// BenchmarkTracer gets the tracer of a known scope, which some instrumentation does for every span.
func BenchmarkTracer(b *testing.B) {
	b.Run("SDK", func(b *testing.B) { tracer(b, sdkProvider(sdkDefault)) })
	b.Run("through the gate", func(b *testing.B) { tracer(b, gatedProvider) })
}

func tracer(b *testing.B, p trace.TracerProvider) {
	measureWarm(b, func(n int) {
		for range n {
			p.Tracer("bench")
		}
	})
}

// BenchmarkDo calls a function that returns nil: directly, through Do whose site is off or on, and
// through Do over OpenTelemetry's no-op, which Do can't know to be off. The function captures
// nothing; one that captures variables is allocated by its caller in all rows. It is a
// package-level variable, so the direct call is not inlined.
func BenchmarkDo(b *testing.B) {
	b.Run("the function alone", func(b *testing.B) {
		var span trace.Span
		ctx := noSpan()
		measure(b, func(n int) {
			for range n {
				if err := work(ctx, span); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	for _, row := range []struct {
		name    string
		tracer  func() trace.Tracer
		context func() context.Context
		mask    spangate.Mask
	}{
		{"spangate, off, no parent", gatedTracer, noSpan, 0},
		{"spangate, off, gated parent", gatedTracer, gatedSpan, 0},
		{"spangate, on", gatedTracer, noSpan, spangate.BitRollout},
		{"Do over trace/noop", noopTracer, noSpan, 0},
	} {
		b.Run(row.name, func(b *testing.B) {
			gate.Store(row.mask)
			t, ctx := row.tracer(), row.context()
			measureWarm(b, func(n int) {
				for range n {
					if err := otelgate.Do(ctx, t, "site", work); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

var work = func(context.Context, trace.Span) error { return nil }
