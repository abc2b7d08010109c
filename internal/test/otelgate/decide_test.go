// SPDX-License-Identifier: Apache-2.0

package test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

func TestStartedSpanIsExportedAfterItsGroupGoesOff(t *testing.T) {
	f := newFixture(t, on)
	_, s := f.tracerOf(on).Start(t.Context(), "s")
	f.gate.Store(0)
	assert.True(t, s.IsRecording())
	s.End()
	assert.Contains(t, f.spans(), "s")
}

func TestSpanThatDidNotStartNeverAppears(t *testing.T) {
	f := newFixture(t, 0)
	_, s := f.tracerOf(on).Start(t.Context(), "s")
	f.gate.Store(on)
	assert.False(t, s.IsRecording())
	s.End()
	assert.Empty(t, f.exported.GetSpans())
}

func TestTracerFetchedWhileOffWorksWhenItsGroupGoesOn(t *testing.T) {
	f := newFixture(t, 0)
	tracer := f.tracerOf(on)
	_, s := tracer.Start(t.Context(), "too early")
	s.End()
	f.gate.Enable(on)
	_, s = tracer.Start(t.Context(), "in time")
	s.End()
	f.gate.Disable(on)
	_, s = tracer.Start(t.Context(), "too late")
	s.End()
	require.Len(t, f.exported.GetSpans(), 1)
	assert.Contains(t, f.spans(), "in time")
}

// While the gate changes, every span that was started is exported, has an exported parent or none,
// and is in the trace of its parent.
func TestTogglingLosesNoSpanAndSplitsNoTrace(t *testing.T) {
	groups := []spangate.Mask{spangate.BitRollout, spangate.BitAgent, spangate.BitModelCall, spangate.BitSandbox}
	f := newFixture(t, 0)
	done := make(chan struct{})
	var toggler, workers sync.WaitGroup
	toggler.Go(func() {
		for m := spangate.Mask(0); ; m += spangate.BitRollout {
			select {
			case <-done:
				return
			default:
				f.gate.Store(m | spangate.BitJob)
			}
		}
	})
	job := f.tracerOf(spangate.BitJob)
	f.gate.Store(spangate.BitJob)
	for range 4 {
		workers.Go(func() {
			for range 100 {
				ctx, root := job.Start(t.Context(), "job")
				started := root.SpanContext()
				for _, g := range groups {
					next, s := f.tracerOf(g).Start(ctx, "s")
					defer s.End()
					if s.SpanContext().TraceID() != started.TraceID() {
						t.Error("a span is in another trace than the job")
					}
					ctx = next
				}
				root.End()
			}
		})
	}
	workers.Wait()
	close(done)
	toggler.Wait()

	spans := f.exported.GetSpans()
	traceOf := map[any]any{}
	for _, s := range spans {
		traceOf[s.SpanContext.SpanID()] = s.SpanContext.TraceID()
	}
	jobs := 0
	for _, s := range spans {
		if s.Name == "job" {
			jobs++
			continue
		}
		require.Equal(t, traceOf[s.Parent.SpanID()], any(s.SpanContext.TraceID()), "the parent is missing or elsewhere")
	}
	assert.Equal(t, 400, jobs)
}
