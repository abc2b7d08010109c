// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

var errTool = errors.New("no such tool")

// failing calls Do for each group, each in the one before, and fails in the innermost.
func failing(ctx context.Context, f *fixture, groups []spangate.Mask) error {
	if len(groups) == 0 {
		return errTool
	}
	return otelgate.Do(ctx, f.tracerOf(groups[0]), groups[0].String(), func(ctx context.Context, _ trace.Span) error {
		// A sibling that succeeds leaves nothing.
		_ = otelgate.Do(ctx, f.tracerOf(off), "succeeds", func(context.Context, trace.Span) error { return nil }, otelgate.OnError())
		return failing(ctx, f, groups[1:])
	}, otelgate.OnError())
}

func TestFailureLeavesASpanForEachLevelUnderEveryMask(t *testing.T) {
	groups := []spangate.Mask{1, 2, 4, 8}
	f := newFixture(t, 0, otelgate.ErrorSpanLimit(1e6))
	local, s := f.Tracer("no rule").Start(t.Context(), "above")
	defer s.End()
	for name, above := range map[string]context.Context{
		"nothing": t.Context(), "a span": local, "a remote span": trace.ContextWithRemoteSpanContext(t.Context(), remote(t)),
	} {
		for mask := range spangate.Mask(16) {
			f.exported.Reset()
			f.gate.Store(mask)
			before := time.Now()
			require.Same(t, errTool, failing(above, f, groups))
			after := time.Now()

			spans := f.spans()
			require.Len(t, f.exported.GetSpans(), len(groups), "%s, %v", name, mask)
			nearest := trace.SpanContextFromContext(above)
			from, to := before, after
			for _, g := range groups {
				s := spans[g.String()]
				assert.Equal(t, nearest.SpanID(), s.Parent.SpanID(), "%s, %v: the parent of %v", name, mask, g)
				if nearest.IsValid() {
					assert.Equal(t, nearest.TraceID(), s.SpanContext.TraceID())
				}
				assert.Equal(t, codes.Error, s.Status.Code)
				assert.Equal(t, "no such tool", s.Status.Description)
				require.Len(t, s.Events, 1)
				assert.False(t, s.StartTime.Before(from), "%s, %v: %v starts after what is around it", name, mask, g)
				assert.False(t, s.EndTime.After(to), "%s, %v: %v ends before what is around it", name, mask, g)
				assert.False(t, s.EndTime.Before(s.StartTime))
				from, to = s.StartTime, s.EndTime
				late := ""
				if mask.HasAny(g) {
					nearest = s.SpanContext
				} else {
					late = "true"
					assert.Equal(t, s.EndTime, s.Events[0].Time)
				}
				assert.Equal(t, late, attributeOf(s, otelgate.OnErrorKey))
			}
		}
	}
	assert.Zero(t, f.ErrorSpansOverLimit())
}

func TestOnErrorPassesTheOptionsOn(t *testing.T) {
	f := newFixture(t, on)
	began := time.Unix(1, 0)
	err := otelgate.Do(t.Context(), f.tracerOf(off), "s", func(_ context.Context, s trace.Span) error {
		assert.False(t, s.IsRecording())
		return errTool
	}, trace.WithSpanKind(trace.SpanKindClient), otelgate.OnError(), trace.WithAttributes(attribute.Int("a", 1)), trace.WithTimestamp(began))
	assert.Same(t, errTool, err)
	stub := f.spans()["s"]
	assert.Equal(t, trace.SpanKindClient, stub.SpanKind)
	assert.Contains(t, stub.Attributes, attribute.Int("a", 1))
	assert.Equal(t, began, stub.StartTime, "the caller's own start")
}

func TestOnErrorOfANewRootIsARoot(t *testing.T) {
	for _, opts := range [][]otelgate.Option{nil, {otelgate.OneTrace()}} {
		f := newFixture(t, on, opts...)
		ctx, above := f.tracerOf(on).Start(t.Context(), "above")
		_ = otelgate.Do(ctx, f.tracerOf(off), "s", func(ctx context.Context, _ trace.Span) error {
			_, s := f.tracerOf(on).Start(ctx, "below")
			s.End()
			return errTool
		}, trace.WithNewRoot(), otelgate.OnError())
		above.End()
		spans := f.spans()
		require.Len(t, spans, 3)
		assert.False(t, spans["s"].Parent.SpanID().IsValid())
		assert.NotEqual(t, above.SpanContext().TraceID(), spans["s"].SpanContext.TraceID())
		assert.Equal(t, opts != nil, spans["s"].SpanContext.TraceID() == spans["below"].SpanContext.TraceID(), "OneTrace has both in one trace")
	}
}

func TestOnErrorOfARootIsInTheTraceOfTheSpansBeneath(t *testing.T) {
	f := newFixture(t, 4, otelgate.OneTrace())
	require.Error(t, failing(t.Context(), f, []spangate.Mask{1, 2, 4, 8}))
	stubs := f.exported.GetSpans()
	require.Len(t, stubs, 4)
	for _, s := range stubs {
		assert.Equal(t, stubs[0].SpanContext.TraceID(), s.SpanContext.TraceID())
	}
}

func TestOnErrorLeavesASpanOfAPanicThatContinues(t *testing.T) {
	f := newFixture(t, on)
	ctx, above := f.tracerOf(on).Start(t.Context(), "above")
	assert.PanicsWithValue(t, "boom", func() {
		_ = otelgate.Do(ctx, f.tracerOf(off), "panic", func(context.Context, trace.Span) error { panic("boom") }, otelgate.OnError())
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = otelgate.Do(ctx, f.tracerOf(off), "Goexit", func(context.Context, trace.Span) error {
			runtime.Goexit()
			return nil
		}, otelgate.OnError())
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Do hangs")
	}
	assert.PanicsWithValue(t, "no text", func() {
		_ = otelgate.Do(ctx, f.tracerOf(off), "text", func(context.Context, trace.Span) error { return new(broken) }, otelgate.OnError())
	})
	above.End()
	assert.Equal(t, 3, f.spans()["above"].ChildSpanCount, "the SDK sees its own span as the parent")
	for _, name := range []string{"panic", "Goexit", "text"} {
		stub := f.spans()[name]
		assert.Equal(t, "panic or runtime.Goexit", stub.Status.Description, name)
		assert.Equal(t, above.SpanContext().SpanID(), stub.Parent.SpanID(), name)
		assert.False(t, stub.EndTime.IsZero(), name)
	}
}

func TestOnErrorMakesNoMoreSpansThanItsLimit(t *testing.T) {
	fail := func(f *fixture) {
		_ = otelgate.Do(t.Context(), f.tracerOf(off), "s", func(context.Context, trace.Span) error { return errTool }, otelgate.OnError())
	}
	for _, limit := range []int{0, 1, 7} {
		f := newFixture(t, on, otelgate.ErrorSpanLimit(limit))
		start := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					fail(f)
				}
			})
		}
		wg.Wait()
		made := len(f.exported.GetSpans())
		assert.LessOrEqual(t, made, limit*(1+int(time.Since(start)/time.Second)))
		assert.GreaterOrEqual(t, made, limit)
		assert.EqualValues(t, 200-made, f.ErrorSpansOverLimit())
	}
	f := newFixture(t, on)
	for range 300 {
		fail(f)
	}
	assert.GreaterOrEqual(t, len(f.exported.GetSpans()), 100)
	assert.NotZero(t, f.ErrorSpansOverLimit())
	_, err := otelgate.NewTracerProvider(f.sdk, f.gate, otelgate.ErrorSpanLimit(-1))
	assert.ErrorIs(t, err, otelgate.ErrInvalidOption)
	assert.Zero(t, (*otelgate.TracerProvider)(nil).ErrorSpansOverLimit())
}

func TestOnErrorSpanNamesTheOverrideUnlessOneAboveDoes(t *testing.T) {
	f := newFixture(t, 0)
	f.tracerOf(7)
	f.gate.SetReach(on)
	ctx := spangate.ContextWithOverride(t.Context(), overrideOf("o", on))
	require.Error(t, failing(ctx, f, []spangate.Mask{off}))
	assert.Equal(t, "o", attributeOf(f.spans()[off.String()], otelgate.OverrideKey))

	f.exported.Reset()
	require.Error(t, failing(ctx, f, []spangate.Mask{on, off}))
	assert.Equal(t, "o", attributeOf(f.spans()[on.String()], otelgate.OverrideKey))
	assert.Equal(t, "", attributeOf(f.spans()[off.String()], otelgate.OverrideKey))
}

func TestOnErrorOverAGatedBaseCountsOnlySpansThatTheBaseMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the second of the limit does not pass
		f := newFixture(t, 0)
		rule := otelgate.Rule{Scope: "t", Group: on}
		inner, err := otelgate.NewTracerProvider(f.sdk, f.gate, rule)
		require.NoError(t, err)
		outer, err := otelgate.NewTracerProvider(inner, new(spangate.Gate), rule, otelgate.ErrorSpanLimit(1))
		require.NoError(t, err)
		for _, made := range []int{0, 0, 1, 1} { // of a limit of 1
			if made == 1 {
				f.gate.Store(on)
			}
			_ = otelgate.Do(t.Context(), outer.Tracer("t"), "s", func(context.Context, trace.Span) error { return errTool }, otelgate.OnError())
			assert.Len(t, f.exported.GetSpans(), made)
			for scope := range outer.Scopes() {
				assert.EqualValues(t, made, scope.Sites[0].Started)
			}
		}
		assert.EqualValues(t, 1, outer.ErrorSpansOverLimit())
	})
}

func TestOnErrorIsCountedAsStarted(t *testing.T) {
	f := newFixture(t, 0, otelgate.CountWithheld(), otelgate.HTTPRules(on, off))
	tracer := f.Tracer("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
	_ = otelgate.Do(t.Context(), tracer, "s", func(context.Context, trace.Span) error { return errTool },
		trace.WithSpanKind(trace.SpanKindServer), otelgate.OnError())
	for scope := range f.Scopes() {
		assert.EqualValues(t, 1, scope.Sites[0].Started, "of the kind server")
		assert.EqualValues(t, 1, scope.Sites[0].Withheld)
		assert.Zero(t, scope.Sites[1].Started)
	}
}

// A tracer that is not gated, and a call of Start, ignore the option.
func TestOnErrorChangesNothingElsewhere(t *testing.T) {
	f := newFixture(t, on)
	_, s := f.sdk.Tracer("raw").Start(t.Context(), "raw", otelgate.OnError())
	s.End()
	_, s = f.tracerOf(on).Start(t.Context(), "gated", otelgate.OnError())
	s.End()
	_, s = f.tracerOf(off).Start(t.Context(), "off", otelgate.OnError())
	s.End()
	for name, tracer := range map[string]trace.Tracer{"bare": f.sdk.Tracer("raw"), "on": f.tracerOf(on), "no-op": noop.Tracer{}} {
		_ = otelgate.Do(t.Context(), tracer, name, func(context.Context, trace.Span) error { return errTool }, otelgate.OnError())
	}
	spans := f.spans()
	assert.Len(t, spans, 4)
	for name, s := range spans {
		assert.Empty(t, s.Attributes, name)
	}
	for _, base := range []trace.Tracer{nil, funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) { return nil, nil }}} {
		err := otelgate.Do(t.Context(), gatedOver(t, baseOf{tracer: base}).Group(off).Tracer("t"), "s",
			func(context.Context, trace.Span) error { return errTool }, otelgate.OnError())
		assert.Same(t, errTool, err)
	}
}

// What the sampler drops stays dropped.
func TestOnErrorLeavesTheSamplerItsDecision(t *testing.T) {
	f := newFixture(t, on)
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(f.exported), sdktrace.WithSampler(sdktrace.NeverSample()))
	err := otelgate.Do(t.Context(), gatedOver(t, sdk).Group(off).Tracer("t"), "s", func(context.Context, trace.Span) error { return errTool }, otelgate.OnError())
	assert.Same(t, errTool, err)
	assert.Empty(t, f.exported.GetSpans())
}
