// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: one Start whose span nobody ends, by a tracer that is off, in a loop with one
// context and one name, everything in cache. The peers are the ways there are today to have
// no span: OpenTelemetry's no-op, the SDK's samplers, and, at the end of the scale, the SDK
// recording. The collector runs as it does in any program, and what is allocated is paid for
// by the row that allocates it.
//
// Not measured: End, which is an empty method on every span but a recording one; deep
// contexts, in which every row looks further for its parent; the exporter.
//
// The peers do other work than the gate, some of it wanted: a sampler that says no still
// gives the span an identity, and hides what is beneath it. A ParentBased sampler follows its
// parent, so under a sampled one it records; its row says so.
//
// What the compiler might have removed: nothing; Start is called through an interface, and
// for b.Loop keeps what it returns alive. The loop itself costs spangate's fastest row more,
// relative to what it measures, than any other row.

func BenchmarkStartNoParent(b *testing.B) {
	ctx := context.Background()
	b.Run("spangate, off", func(b *testing.B) {
		t, _ := gated(b)
		start(b, t, ctx, false)
	})
	b.Run("spangate, off, guarded by gate.On", func(b *testing.B) {
		t, g := gated(b)
		guarded(b, t, g, ctx)
	})
	peers(b, ctx, false)
}

func BenchmarkStartUnderSpan(b *testing.B) {
	b.Run("spangate, off, gated parent", func(b *testing.B) {
		t, g := gated(b)
		start(b, t, gatedParent(b, t, g), false)
	})
	b.Run("spangate, off, a value beneath a gated parent", func(b *testing.B) {
		t, g := gated(b)
		start(b, t, deeper(gatedParent(b, t, g)), false)
	})
	b.Run("spangate, off, raw SDK parent", func(b *testing.B) {
		t, _ := gated(b)
		start(b, t, parent(b, sdk(sdktrace.AlwaysSample())), false)
	})
	b.Run("spangate, off, guarded by gate.On", func(b *testing.B) {
		t, g := gated(b)
		guarded(b, t, g, gatedParent(b, t, g))
	})
	peers(b, parent(b, sdk(sdktrace.AlwaysSample())), true)
}

func BenchmarkStartUnderRemoteParent(b *testing.B) {
	b.Run("spangate, off", func(b *testing.B) {
		t, _ := gated(b)
		start(b, t, remoteParent(), false)
	})
	b.Run("spangate, off, guarded by gate.On", func(b *testing.B) {
		t, g := gated(b)
		guarded(b, t, g, remoteParent())
	})
	peers(b, remoteParent(), true)
}

func BenchmarkStartWithTwoAttributes(b *testing.B) {
	ctx := context.Background()
	b.Run("spangate, off", func(b *testing.B) {
		t, _ := gated(b)
		startWithAttributes(b, t, ctx, false)
	})
	b.Run("spangate, off, guarded by gate.On", func(b *testing.B) {
		t, g := gated(b)
		b.ReportAllocs()
		for b.Loop() {
			if g.On(spangate.BitRollout) {
				startOnceWithAttributes(t, ctx)
				b.Fatal("the site is off")
			}
		}
	})
	b.Run("trace/noop", func(b *testing.B) { startWithAttributes(b, noopTracer(), ctx, false) })
	b.Run("SDK, NeverSample", func(b *testing.B) { startWithAttributes(b, sdk(sdktrace.NeverSample()), ctx, false) })
	b.Run("SDK, ParentBased ratio 0", func(b *testing.B) { startWithAttributes(b, sdk(ratioZero()), ctx, false) })
	b.Run("SDK, recording", func(b *testing.B) { startWithAttributes(b, sdk(sdktrace.AlwaysSample()), ctx, true) })
}

// peers runs start for each peer. The parent of ctx, if sampled, has a ParentBased sampler
// record.
func peers(b *testing.B, ctx context.Context, sampled bool) {
	b.Run("trace/noop", func(b *testing.B) { start(b, noopTracer(), ctx, false) })
	b.Run("SDK, NeverSample", func(b *testing.B) { start(b, sdk(sdktrace.NeverSample()), ctx, false) })
	name := "SDK, ParentBased ratio 0"
	if sampled {
		name += " (records, as its parent does)"
	}
	b.Run(name, func(b *testing.B) { start(b, sdk(ratioZero()), ctx, sampled) })
	b.Run("SDK, recording", func(b *testing.B) { start(b, sdk(sdktrace.AlwaysSample()), ctx, true) })
}

func noopTracer() trace.Tracer { return noop.NewTracerProvider().Tracer("bench") }

func ratioZero() sdktrace.Sampler { return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)) }

func start(b *testing.B, t trace.Tracer, ctx context.Context, records bool) {
	b.Helper()
	if _, span := t.Start(ctx, "site"); span.IsRecording() != records {
		b.Fatalf("recording: %t, want %t", !records, records)
	}
	for range warmUp {
		t.Start(ctx, "site")
	}
	b.ReportAllocs()
	for b.Loop() {
		t.Start(ctx, "site")
	}
}

func startWithAttributes(b *testing.B, t trace.Tracer, ctx context.Context, records bool) {
	b.Helper()
	if _, span := startOnceWithAttributes(t, ctx); span.IsRecording() != records {
		b.Fatalf("recording: %t, want %t", !records, records)
	}
	for range warmUp {
		startOnceWithAttributes(t, ctx)
	}
	b.ReportAllocs()
	for b.Loop() {
		startOnceWithAttributes(t, ctx)
	}
}

func startOnceWithAttributes(t trace.Tracer, ctx context.Context) (context.Context, trace.Span) {
	return t.Start(ctx, "site", trace.WithAttributes(attribute.String("task", "gsm8k"), attribute.Int("attempt", 1)))
}

// guarded is start where the program checks the gate itself.
func guarded(b *testing.B, t trace.Tracer, g *spangate.Gate, ctx context.Context) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if g.On(spangate.BitRollout) {
			t.Start(ctx, "site")
			b.Fatal("the site is off")
		}
	}
}
