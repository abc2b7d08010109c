// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// discard is a span processor that drops what it is given. Without a processor the SDK takes
// shortcuts that no program with an exporter sees; with a batching one, the exporter's
// goroutine would be measured too.
type discard struct{}

var _ sdktrace.SpanProcessor = discard{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

// warmUp is how often an operation that may allocate is done before it is timed: until it has
// been through the heap once. While benchmarks run that allocate nothing, Go gives memory
// back to the system, and whichever comes next pays for having it mapped again.
const warmUp = 10_000

// sdk returns the tracer of a bare SDK provider.
func sdk(sampler sdktrace.Sampler) trace.Tracer { return sdkProvider(sampler).Tracer("bench") }

func sdkProvider(sampler sdktrace.Sampler) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(discard{}))
}

// gated returns a tracer of group rollout, over the SDK recording, behind a gate of its own.
func gated(b *testing.B) (trace.Tracer, *spangate.Gate) {
	b.Helper()
	g := spangate.NewGate(spangate.PresetAll &^ spangate.BitRollout)
	return gatedProvider(b, g).Tracer("bench"), g
}

func gatedProvider(b *testing.B, g *spangate.Gate) trace.TracerProvider {
	b.Helper()
	p, err := otelgate.NewTracerProvider(sdkProvider(sdktrace.AlwaysSample()), g, otelgate.Rule{Scope: "bench", Group: spangate.BitRollout})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// gatedParent returns a context with a span in it that is on through the gate of t, which it
// leaves off.
func gatedParent(b *testing.B, t trace.Tracer, g *spangate.Gate) context.Context {
	b.Helper()
	defer g.Store(g.Enable(spangate.BitRollout))
	return parent(b, t)
}

// parent returns a context with a recording span of t in it.
func parent(b *testing.B, t trace.Tracer) context.Context {
	b.Helper()
	ctx, span := t.Start(context.Background(), "parent")
	if !span.IsRecording() {
		b.Fatal("the parent does not record")
	}
	return ctx
}

// valueKey is the key of a value that a program keeps in its context.
type valueKey struct{}

// deeper returns a context right beneath ctx.
func deeper(ctx context.Context) context.Context { return context.WithValue(ctx, valueKey{}, 1) }

// remoteParent returns a context as propagation leaves it for a sampled incoming request.
func remoteParent() context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
}
