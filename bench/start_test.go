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
	"github.com/spangate/spangate/otelgate"
)

// Bias.
//
// Measured: Start by a tracer that is off, in a loop with one context and one name, everything in
// cache. The alternatives are the other ways to have no span: OpenTelemetry's no-op and the SDK's
// samplers; the SDK recording is there for scale. Each row includes the garbage collection of what
// it allocates.
//
// Not measured: End, which is an empty method on every span but a recording one; deep contexts, in
// which every row takes longer to find its parent; the exporter.
//
// The alternatives do other work than the gate: a sampler that drops a span still gives it an
// identity, and drops what is beneath it. A ParentBased sampler records under a sampled
// parent; its row says so.
//
// The compiler can remove nothing, since Start is called through an interface.

func BenchmarkStartNoParent(b *testing.B) {
	starts(b, start, noSpanRows)
}

func BenchmarkStartUnderSpan(b *testing.B) {
	starts(b, start, []startRow{
		{"spangate, off, gated parent", gatedTracer, gatedSpan, false},
		{"spangate, off, a value beneath a gated parent", gatedTracer, deeper(gatedSpan), false},
		{"spangate, off, raw SDK parent", gatedTracer, sdkSpan, false},
		{"spangate, off, guarded by gate.On", nil, gatedSpan, false},
		{"trace/noop", noopTracer, sdkSpan, false},
		{"SDK, NeverSample", neverSample, sdkSpan, false},
		{"SDK, ParentBased ratio 0 (records, as its parent does)", ratioZero, sdkSpan, true},
		{"SDK, recording", recording, sdkSpan, true},
	})
}

func BenchmarkStartUnderRemoteParent(b *testing.B) {
	starts(b, start, []startRow{
		{"spangate, off", gatedTracer, remoteParent, false},
		{"spangate, off, guarded by gate.On", nil, remoteParent, false},
		{"trace/noop", noopTracer, remoteParent, false},
		{"SDK, NeverSample", neverSample, remoteParent, false},
		{"SDK, ParentBased ratio 0 (records, as its parent does)", ratioZero, remoteParent, true},
		{"SDK, recording", recording, remoteParent, true},
	})
}

func BenchmarkStartWithTwoAttributes(b *testing.B) {
	starts(b, startWithAttributes, noSpanRows)
}

// startRow is one way to have no span, or to have one.
type startRow struct {
	name    string
	tracer  func() trace.Tracer // nil: the program checks the gate itself
	context func() context.Context
	records bool
}

var noSpanRows = []startRow{
	{"spangate, off", gatedTracer, noSpan, false},
	{"spangate, off, guarded by gate.On", nil, noSpan, false},
	{"trace/noop", noopTracer, noSpan, false},
	{"SDK, NeverSample", neverSample, noSpan, false},
	{"SDK, ParentBased ratio 0", ratioZero, noSpan, false},
	{"SDK, recording", recording, noSpan, true},
}

// starts measures the rows in the loop that start or startWithAttributes returns.
func starts(b *testing.B, loop func(trace.Tracer, context.Context) func(n int), rows []startRow) {
	for _, row := range rows {
		b.Run(row.name, func(b *testing.B) {
			gate.Store(spangate.PresetAll &^ spangate.BitRollout)
			ctx := row.context()
			if row.tracer == nil {
				measureOff(b, startGuarded(gatedTracer(), ctx))
				return
			}
			t := row.tracer()
			if _, span := t.Start(ctx, "site"); span.IsRecording() != row.records {
				b.Fatalf("the span records: %t", !row.records)
			}
			measureWarm(b, loop(t, ctx))
		})
	}
}

func start(t trace.Tracer, ctx context.Context) func(n int) {
	return func(n int) {
		for range n {
			t.Start(ctx, "site")
		}
	}
}

func startWithAttributes(t trace.Tracer, ctx context.Context) func(n int) {
	return func(n int) {
		for range n {
			t.Start(ctx, "site", trace.WithAttributes(attribute.String("task", "gsm8k"), attribute.Int("attempt", 1)))
		}
	}
}

// Inlined, startGuarded would have its loop copied, and the compiler does not inline the calls in
// such a copy.
//
//go:noinline
func startGuarded(t trace.Tracer, ctx context.Context) func(n int) {
	return func(n int) {
		for range n {
			if gate.On(spangate.BitRollout) {
				startWithAttributes(t, ctx)(1)
				started++
			}
		}
	}
}

func noopTracer() trace.Tracer  { return noop.NewTracerProvider().Tracer("bench") }
func neverSample() trace.Tracer { return sdkProvider(sdktrace.NeverSample()).Tracer("bench") }
func recording() trace.Tracer   { return sdkProvider(sdkDefault).Tracer("bench") }
func ratioZero() trace.Tracer {
	return sdkProvider(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0))).Tracer("bench")
}

// gatedTracer returns a tracer of the group rollout, behind gate, over the SDK recording.
func gatedTracer() trace.Tracer { return gatedProvider.Tracer("bench") }

// gatedProvider is shared by all benchmarks, since a provider is fast under its own spans only.
var gatedProvider = func() trace.TracerProvider {
	p, err := otelgate.NewTracerProvider(sdkProvider(sdkDefault), &gate, otelgate.Rule{Group: spangate.BitRollout})
	if err != nil {
		panic(err)
	}
	return p
}()

// sdkDefault is the sampler of an SDK without options.
var sdkDefault = sdktrace.ParentBased(sdktrace.AlwaysSample())

// sdkProvider returns an SDK that drops its spans in a processor: without a processor the SDK takes
// shortcuts, and an exporter would add its own cost.
func sdkProvider(sampler sdktrace.Sampler) trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(discard{}))
}

// discard is a span processor that drops its spans.
type discard struct{}

var _ sdktrace.SpanProcessor = discard{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

func noSpan() context.Context { return context.Background() }

// sdkSpan returns a context with a recording span of the SDK in it.
func sdkSpan() context.Context {
	ctx, _ := recording().Start(context.Background(), "parent")
	return ctx
}

// gatedSpan returns a context with a recording span in it that was started through the gate.
func gatedSpan() context.Context {
	defer gate.Store(gate.Enable(spangate.BitRollout))
	ctx, _ := gatedTracer().Start(context.Background(), "parent")
	return ctx
}

// valueKey is the key of a program's value in its context.
type valueKey struct{}

// deeper puts a value beneath what parent returns.
func deeper(parent func() context.Context) func() context.Context {
	return func() context.Context { return context.WithValue(parent(), valueKey{}, 1) }
}

// remoteParent returns a context as propagation leaves it for a sampled incoming request.
func remoteParent() context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
}
