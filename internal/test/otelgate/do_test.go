// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate/otelgate"
)

func TestDoRunsInASpan(t *testing.T) {
	f := newFixture(t, on)
	for name, tracer := range map[string]trace.Tracer{"gated": f.tracerOf(on), "bare": f.sdk.Tracer("test")} {
		err := otelgate.Do(t.Context(), tracer, name, func(ctx context.Context, s trace.Span) error {
			assert.Same(t, s, trace.SpanFromContext(ctx))
			assert.True(t, s.IsRecording())
			s.SetAttributes(attribute.Int("inside", 1))
			return nil
		}, trace.WithSpanKind(trace.SpanKindConsumer))
		require.NoError(t, err)
		stub := f.spans()[name]
		assert.Equal(t, codes.Unset, stub.Status.Code)
		assert.Equal(t, trace.SpanKindConsumer, stub.SpanKind)
		assert.Equal(t, []attribute.KeyValue{attribute.Int("inside", 1)}, stub.Attributes)
	}
}

func TestDoRecordsTheErrorAndReturnsIt(t *testing.T) {
	f := newFixture(t, on)
	want := errors.New("no such tool")
	err := otelgate.Do(t.Context(), f.tracerOf(on), "s", func(context.Context, trace.Span) error { return want })
	assert.Same(t, want, err)
	stub := f.spans()["s"]
	assert.Equal(t, codes.Error, stub.Status.Code)
	assert.Equal(t, "no such tool", stub.Status.Description)
	require.Len(t, stub.Events, 1)
	assert.Equal(t, "exception", stub.Events[0].Name)
}

func TestDoEndsTheSpanOnAPanicThatContinues(t *testing.T) {
	f := newFixture(t, on)
	for name, tracer := range map[string]trace.Tracer{"gated": f.tracerOf(on), "bare": f.sdk.Tracer("test")} {
		assert.PanicsWithValue(t, "boom", func() {
			_ = otelgate.Do(t.Context(), tracer, name, func(context.Context, trace.Span) error { panic("boom") })
		})
		stub := f.spans()[name]
		assert.Equal(t, codes.Error, stub.Status.Code)
		require.Len(t, stub.Events, 1, "the SDK records the panic")
		assert.Contains(t, stub.Events[0].Attributes, attribute.String("exception.message", "boom"))
	}
}

func TestDoEndsTheSpanOnGoexit(t *testing.T) {
	f := newFixture(t, on)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = otelgate.Do(t.Context(), f.tracerOf(on), "s", func(context.Context, trace.Span) error {
			runtime.Goexit()
			return nil
		})
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Do hangs")
	}
	assert.Equal(t, codes.Error, f.spans()["s"].Status.Code)
	assert.Equal(t, "panic or runtime.Goexit", f.spans()["s"].Status.Description)
}

// broken is an error whose text panics.
type broken struct{}

func (*broken) Error() string { panic("no text") }

func TestDoEndsTheSpanWhenTheErrorsTextPanics(t *testing.T) {
	f := newFixture(t, on)
	assert.PanicsWithValue(t, "no text", func() {
		_ = otelgate.Do(t.Context(), f.tracerOf(on), "s", func(context.Context, trace.Span) error { return new(broken) })
	})
	assert.Equal(t, codes.Error, f.spans()["s"].Status.Code)
}

func TestDoRunsTheFunctionWhileItsGroupIsOff(t *testing.T) {
	f := newFixture(t, on)
	want := errors.New("no such tool")
	err := otelgate.Do(t.Context(), f.tracerOf(on), "above", func(ctx context.Context, above trace.Span) error {
		return otelgate.Do(ctx, f.tracerOf(off), "off", func(inner context.Context, s trace.Span) error {
			assert.True(t, ctx == inner)
			assert.False(t, s.IsRecording())
			s.SetName("changed")
			s.SetStatus(codes.Error, "changed")
			return nil
		})
	})
	require.NoError(t, err)
	require.Len(t, f.exported.GetSpans(), 1)
	assert.Equal(t, codes.Unset, f.spans()["above"].Status.Code)

	err = otelgate.Do(t.Context(), f.tracerOf(off), "off", func(context.Context, trace.Span) error { return want })
	assert.Same(t, want, err)
	err = otelgate.Do(t.Context(), f.tracerOf(off), "off", func(context.Context, trace.Span) error { return new(broken) })
	assert.IsType(t, new(broken), err, "Error is not called")
	assert.PanicsWithValue(t, "boom", func() {
		_ = otelgate.Do(t.Context(), f.tracerOf(off), "off", func(context.Context, trace.Span) error { panic("boom") })
	})
}

// fn decides whether cancellation is a failure.
func TestDoRecordsACancelledContextAsAnError(t *testing.T) {
	f := newFixture(t, on)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := otelgate.Do(ctx, f.tracerOf(on), "s", func(ctx context.Context, _ trace.Span) error { return ctx.Err() })
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, codes.Error, f.spans()["s"].Status.Code)
	assert.Equal(t, "context canceled", f.spans()["s"].Status.Description)
}

func TestDoWithoutAFunctionIsAnError(t *testing.T) {
	f := newFixture(t, on)
	assert.ErrorContains(t, otelgate.Do(t.Context(), f.tracerOf(on), "s", nil), `span "s": nil function`)
	assert.ErrorContains(t, otelgate.Do(t.Context(), nil, "s", func(context.Context, trace.Span) error { return nil }), "nil tracer")
	assert.Less(t, len(otelgate.Do(t.Context(), nil, strings.Repeat("x", 1<<20), nil).Error()), 512, "only the beginning of a long name is quoted")
	assert.Empty(t, f.exported.GetSpans())
}

func TestDoTakesAnyTracer(t *testing.T) {
	ran := false
	err := otelgate.Do(t.Context(), noop.Tracer{}, "s", func(context.Context, trace.Span) error {
		ran = true
		return nil
	})
	assert.NoError(t, err)
	assert.True(t, ran)
}
