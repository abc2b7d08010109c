// SPDX-License-Identifier: Apache-2.0

package otelsdk_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelsdk"
)

// exporter keeps the exported spans after Shutdown, which tracetest's does not. After Shutdown it
// refuses spans, as an OTLP exporter does.
type exporter struct {
	mu       sync.Mutex
	spans    tracetest.SpanStubs
	shutdown bool
}

func (e *exporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shutdown {
		return errors.New("the exporter is shut down")
	}
	e.spans = append(e.spans, tracetest.SpanStubsFromReadOnlySpans(spans)...)
	return nil
}

func (e *exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shutdown = true
	return nil
}

// orphans returns the spans whose parent was not exported.
func (e *exporter) orphans() (names []string) {
	exported := make(map[trace.SpanID]bool)
	for _, s := range e.spans {
		exported[s.SpanContext.SpanID()] = true
	}
	for _, s := range e.spans {
		if s.Parent.IsValid() && !exported[s.Parent.SpanID()] {
			names = append(names, s.Name)
		}
	}
	return names
}

// truncated has each exported span by name, and whether it has [otelsdk.TruncatedKey].
func (e *exporter) truncated(t *testing.T) map[string]bool {
	names := make(map[string]bool)
	for _, s := range e.spans {
		truncated := false
		for _, a := range s.Attributes {
			if a.Key == otelsdk.TruncatedKey {
				require.True(t, a.Value.AsBool())
				truncated = true
			}
		}
		require.NotContains(t, names, s.Name, "exported twice")
		names[s.Name] = truncated
	}
	return names
}

func TestSpansOpenAtShutdownAreExportedAndMarked(t *testing.T) {
	for name, processor := range map[string]func(sdktrace.SpanExporter) sdktrace.SpanProcessor{
		"batch":  func(e sdktrace.SpanExporter) sdktrace.SpanProcessor { return sdktrace.NewBatchSpanProcessor(e) },
		"simple": sdktrace.NewSimpleSpanProcessor,
	} {
		t.Run(name, func(t *testing.T) {
			e := new(exporter)
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(processor(e))))
			tracer := provider.Tracer("")
			ctx, job := tracer.Start(t.Context(), "job")
			ctx, rollout := tracer.Start(ctx, "rollout")
			_, done := tracer.Start(ctx, "done")
			done.End()
			require.NoError(t, provider.ForceFlush(t.Context()))
			assert.Equal(t, map[string]bool{"done": false}, e.truncated(t), "a flush ends no span")
			assert.Equal(t, []string{"done"}, e.orphans())

			require.NoError(t, provider.Shutdown(t.Context()))
			assert.False(t, rollout.IsRecording())
			rollout.End()
			job.End()
			assert.Equal(t, map[string]bool{"job": true, "rollout": true, "done": false}, e.truncated(t))
			assert.Empty(t, e.orphans())
			assert.Equal(t, e.spans[1].EndTime, e.spans[2].EndTime, "a child does not outlive its parent")
		})
	}
}

// Without the processor the same program exports an orphan.
func TestSDKAloneLosesOpenSpans(t *testing.T) {
	e := new(exporter)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	ctx, job := provider.Tracer("").Start(t.Context(), "job")
	_, done := provider.Tracer("").Start(ctx, "done")
	done.End()
	require.NoError(t, provider.Shutdown(t.Context()))
	job.End()
	assert.Equal(t, []string{"done"}, e.orphans())
}

// The SDK shuts processors down in the order in which they were registered.
func TestProcessorsThatAreNotPassedMustBeRegisteredAfter(t *testing.T) {
	before, first, second, after := new(exporter), new(exporter), new(exporter), new(exporter)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(before),
		sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(nil, sdktrace.NewBatchSpanProcessor(first), sdktrace.NewBatchSpanProcessor(second))),
		sdktrace.WithBatcher(after),
	)
	provider.Tracer("").Start(t.Context(), "job")
	require.NoError(t, provider.Shutdown(t.Context()))
	assert.Empty(t, before.spans)
	for _, e := range []*exporter{first, second, after} {
		assert.Equal(t, map[string]bool{"job": true}, e.truncated(t))
	}
}

func TestWithoutProcessorsItEndsSpans(t *testing.T) {
	e := new(exporter)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans()), sdktrace.WithBatcher(e))
	provider.Tracer("").Start(t.Context(), "job")
	require.NoError(t, provider.Shutdown(t.Context()))
	assert.Equal(t, map[string]bool{"job": true}, e.truncated(t))
}

// More spans are open than the queue of the batch processor holds.
func TestNoOpenSpanIsDroppedForAFullQueue(t *testing.T) {
	const spans = 3 * sdktrace.DefaultMaxQueueSize
	e := new(exporter)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(
		sdktrace.NewBatchSpanProcessor(e, sdktrace.WithMaxQueueSize(sdktrace.DefaultMaxExportBatchSize)))))
	ctx := t.Context()
	for range spans {
		ctx, _ = provider.Tracer("").Start(trace.ContextWithSpan(t.Context(), trace.SpanFromContext(ctx)), "")
	}
	require.NoError(t, provider.Shutdown(t.Context()))
	assert.Len(t, e.spans, spans)
	assert.Empty(t, e.orphans())
}

func TestMoreThanMaxOpenSpansAreLostAndReported(t *testing.T) {
	e := new(exporter)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(sdktrace.NewSimpleSpanProcessor(e))))
	tracer := provider.Tracer("")
	start := func() trace.Span { _, s := tracer.Start(t.Context(), ""); return s }
	first := start()
	for range otelsdk.MaxOpen - 1 {
		start()
	}
	ended := start()
	start()
	ended.End()
	first.End()
	start() // in the place of the first
	err := provider.Shutdown(t.Context())
	assert.ErrorContains(t, err, fmt.Sprintf("1 spans are lost: they were open at shutdown with %d others", otelsdk.MaxOpen))
	assert.Len(t, e.spans, otelsdk.MaxOpen+2)
}

func TestShutdownStopsWhenItsContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := otelsdk.EndOpenSpans(flusher{cancel})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	_, s := provider.Tracer("").Start(t.Context(), "")
	err := p.Shutdown(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "1 of 1 open spans were not ended")
	assert.True(t, s.IsRecording())
}

// flusher cancels a context while it is flushed.
type flusher struct{ cancel context.CancelFunc }

func (flusher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (flusher) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (flusher) Shutdown(context.Context) error                  { return nil }
func (f flusher) ForceFlush(context.Context) error              { f.cancel(); return nil }

// As with a batch processor whose collector is gone.
func TestShutdownFlushesNoMoreAfterAFailure(t *testing.T) {
	failed := errors.New("no collector")
	next := &failing{err: failed}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(next)))
	for range 3 * sdktrace.DefaultMaxExportBatchSize {
		provider.Tracer("").Start(t.Context(), "")
	}
	assert.ErrorIs(t, provider.Shutdown(t.Context()), failed)
	assert.Equal(t, 1, next.flushed)
	assert.Equal(t, 3*sdktrace.DefaultMaxExportBatchSize, next.ended)
}

type failing struct {
	err            error
	flushed, ended int
}

func (*failing) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (f *failing) OnEnd(sdktrace.ReadOnlySpan)                   { f.ended++ }
func (*failing) Shutdown(context.Context) error                  { return nil }
func (f *failing) ForceFlush(context.Context) error              { f.flushed++; return f.err }

// A program that still works while it shuts down exports whole traces.
func TestSpansThatStartDuringShutdownLeaveNoOrphan(t *testing.T) {
	e := new(exporter)
	next := &late{SpanProcessor: sdktrace.NewBatchSpanProcessor(e)}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(next)))
	tracer := provider.Tracer("")
	ctx, _ := tracer.Start(t.Context(), "job")
	next.start = func() {
		ctx, _ := tracer.Start(ctx, "open")
		_, done := tracer.Start(ctx, "done")
		done.End()
	}
	require.NoError(t, provider.Shutdown(t.Context()))
	assert.Equal(t, map[string]bool{"job": true}, e.truncated(t))
}

// late starts spans while it is shut down.
type late struct {
	sdktrace.SpanProcessor
	start func()
}

func (l *late) Shutdown(ctx context.Context) error {
	l.start()
	return l.SpanProcessor.Shutdown(ctx)
}

func TestConcurrentSpansAndShutdown(t *testing.T) {
	e := new(exporter)
	p := otelsdk.EndOpenSpans(sdktrace.NewBatchSpanProcessor(e))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	var group sync.WaitGroup
	started := make(chan struct{}, 4)
	for range cap(started) {
		group.Go(func() {
			for i := range 1000 {
				ctx, parent := provider.Tracer("").Start(context.Background(), "")
				_, child := provider.Tracer("").Start(ctx, "")
				child.End()
				parent.End()
				if i == 10 {
					started <- struct{}{}
				}
			}
		})
	}
	for range cap(started) {
		<-started
	}
	require.NoError(t, provider.Shutdown(context.Background()))
	group.Wait()
	require.NoError(t, p.Shutdown(context.Background()), "a second shutdown has no effect")
	assert.NotEmpty(t, e.spans)
}

// The processor adds no allocation to a span.
func TestSpanAllocatesAsManyTimesAsWithTheSDKAlone(t *testing.T) {
	allocations := func(options ...sdktrace.TracerProviderOption) float64 {
		tracer := sdktrace.NewTracerProvider(options...).Tracer("")
		return testing.AllocsPerRun(1000, func() {
			_, s := tracer.Start(context.Background(), "")
			s.End()
		})
	}
	drop := sdktrace.WithSpanProcessor(flusher{})
	assert.Equal(t, allocations(drop), allocations(sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(flusher{}))))
}

func ExampleEndOpenSpans() {
	exporter := printer{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
		otelsdk.EndOpenSpans(sdktrace.NewBatchSpanProcessor(exporter))))
	ctx, _ := provider.Tracer("").Start(context.Background(), "job")
	_, span := provider.Tracer("").Start(ctx, "done")
	span.End()
	if err := provider.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// done []
	// job [{nemo.span.truncated true}]
}

type printer struct{}

func (printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		fmt.Print(s.Name(), " [")
		for _, a := range s.Attributes() {
			fmt.Printf("{%s %v}", a.Key, a.Value.AsInterface())
		}
		fmt.Println("]")
	}
	return nil
}

func (printer) Shutdown(context.Context) error { return nil }

// Bias: the spans are empty and dropped when they end, so the processor is a larger share of the
// cost than in a program that sets attributes and exports.
func BenchmarkSpan(b *testing.B) {
	for _, row := range []struct {
		name      string
		processor sdktrace.SpanProcessor
	}{
		{"SDK", flusher{}},
		{"EndOpenSpans", otelsdk.EndOpenSpans(flusher{})},
	} {
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(row.processor)).Tracer("")
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, s := tracer.Start(context.Background(), "")
					s.End()
				}
			})
		})
	}
}
