// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

const (
	on  = spangate.BitRollout
	off = spangate.BitSandbox
)

type key struct{}

// checkInert asserts that a span is that of a site that is off, with this context.
func checkInert(t *testing.T, f *fixture, s trace.Span, sc trace.SpanContext) {
	t.Helper()
	assert.False(t, s.IsRecording())
	assert.True(t, s.SpanContext().Equal(sc), "context %v, not %v", s.SpanContext(), sc)
	assert.Same(t, f.TracerProvider, s.TracerProvider())
}

func TestOffUnderNoSpanIsInvisible(t *testing.T) {
	f := newFixture(t, on)
	for name, ctx := range map[string]context.Context{
		"background":             t.Context(),
		"a value":                context.WithValue(t.Context(), key{}, 1),
		"a span without context": trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}),
	} {
		got, s := f.of(off).Start(ctx, "off")
		assert.True(t, ctx == got, name)
		checkInert(t, f, s, trace.SpanContext{})
	}
}

func TestOffUnderASpanThatIsOnHandsItsContextOn(t *testing.T) {
	f := newFixture(t, on)
	raw, rawSpan := f.sdk.Tracer("raw").Start(t.Context(), "raw")
	defer rawSpan.End()
	gated, gatedSpan := f.of(on).Start(t.Context(), "gated")
	defer gatedSpan.End()
	for name, ctx := range map[string]context.Context{
		"gated":                 gated,
		"gated, deeper":         context.WithValue(gated, key{}, 1),
		"an SDK span, ungated":  raw,
		"ungated, deeper still": context.WithValue(raw, key{}, 1),
	} {
		got, s := f.of(off).Start(ctx, "off")
		assert.True(t, ctx == got, name)
		checkInert(t, f, s, trace.SpanContextFromContext(ctx))

		// The next site that is off finds the same.
		again, s := f.of(off).Start(got, "off too")
		assert.True(t, ctx == again, name)
		checkInert(t, f, s, trace.SpanContextFromContext(ctx))
	}
}

func TestOffUnderARemoteParentKeepsItFindable(t *testing.T) {
	f := newFixture(t, on)
	sc := remote(t)
	ctx := trace.ContextWithRemoteSpanContext(context.WithValue(t.Context(), key{}, 1), sc)
	got, s := f.of(off).Start(ctx, "off")
	checkInert(t, f, s, sc)
	assert.Same(t, s, trace.SpanFromContext(got), "the inert span stands in the context")
	assert.True(t, s.SpanContext().IsRemote())
	assert.Equal(t, "vendor=kept", s.SpanContext().TraceState().String())
	assert.Equal(t, 1, got.Value(key{}))

	again, s2 := f.of(off).Start(got, "off too")
	assert.True(t, got == again)
	assert.Same(t, s, s2)

	// What is beneath joins the trace, through the span in the context as well.
	_, child := trace.SpanFromContext(got).TracerProvider().Tracer("found").Start(got, "child")
	child.End()
	stub := f.spans()["child"]
	assert.Equal(t, sc.TraceID(), stub.SpanContext.TraceID())
	assert.True(t, stub.Parent.Equal(sc))
	assert.Equal(t, "vendor=kept", stub.SpanContext.TraceState().String())
}

func TestOffWithNewRootCutsWhatIsBeneath(t *testing.T) {
	f := newFixture(t, on)
	member, err := baggage.NewMember("kept", "yes")
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	base := baggage.ContextWithBaggage(t.Context(), bag)

	gated, gatedSpan := f.of(on).Start(base, "above")
	defer gatedSpan.End()
	raw, rawSpan := f.sdk.Tracer("raw").Start(base, "above")
	defer rawSpan.End()
	distant := trace.ContextWithRemoteSpanContext(base, remote(t))
	inert, _ := f.of(off).Start(distant, "off")

	for name, ctx := range map[string]context.Context{
		"no span": base, "gated": gated, "ungated": raw, "remote": distant, "inert": inert,
	} {
		f.exported.Reset()
		got, s := f.of(off).Start(ctx, "off", trace.WithNewRoot(), trace.WithAttributes(attribute.Int("a", 1)))
		checkInert(t, f, s, trace.SpanContext{})
		assert.False(t, trace.SpanContextFromContext(got).IsValid(), name)
		assert.Equal(t, "yes", baggage.FromContext(got).Member("kept").Value(), "only the span is cut off")

		_, child := f.of(on).Start(got, "child")
		child.End()
		stub := f.spans()["child"]
		assert.False(t, stub.Parent.IsValid(), name)
		assert.NotEqual(t, trace.SpanContextFromContext(ctx).TraceID(), stub.SpanContext.TraceID(), name)
	}
	got, _ := f.of(off).Start(base, "off", trace.WithNewRoot())
	assert.True(t, base == got, "without a parent there is nothing to cut")
}

// The SDK takes the trace ID of a parent that has nothing else, so that is cut off too.
func TestOffWithNewRootCutsAParentThatIsOnlyHalfThere(t *testing.T) {
	f := newFixture(t, on)
	half := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}, Remote: true})
	ctx, _ := f.of(off).Start(trace.ContextWithSpanContext(t.Context(), half), "off", trace.WithNewRoot())
	_, child := f.of(on).Start(ctx, "child")
	assert.NotEqual(t, half.TraceID(), child.SpanContext().TraceID())
	child.End()
}

func TestOnWithNewRootStartsATrace(t *testing.T) {
	f := newFixture(t, on)
	ctx, above := f.of(on).Start(t.Context(), "above")
	_, s := f.of(on).Start(ctx, "root", trace.WithNewRoot())
	s.End()
	above.End()
	assert.False(t, f.spans()["root"].Parent.IsValid())
	assert.NotEqual(t, f.spans()["above"].SpanContext.TraceID(), f.spans()["root"].SpanContext.TraceID())
}

func TestNilContextCountsAsBackground(t *testing.T) {
	f := newFixture(t, on)
	var none context.Context
	for _, tracer := range []trace.Tracer{f.of(on), f.of(off)} {
		for _, opts := range [][]trace.SpanStartOption{nil, {trace.WithNewRoot()}, {trace.WithSpanKind(trace.SpanKindServer)}} {
			ctx, s := tracer.Start(none, "s", opts...)
			require.NotNil(t, ctx)
			s.End()
		}
	}
}

func TestInertSpanNeverTouchesAnAncestor(t *testing.T) {
	f := newFixture(t, on)
	ctx, above := f.of(on).Start(t.Context(), "above")
	ctx, s := f.of(off).Start(ctx, "off")
	s.SetName("changed")
	s.SetStatus(codes.Error, "changed")
	s.SetAttributes(attribute.Bool("changed", true))
	s.AddEvent("changed")
	s.AddLink(trace.Link{SpanContext: remote(t)})
	s.RecordError(assert.AnError)
	s.End()
	assert.True(t, above.IsRecording(), "End of an inert span ended its ancestor")

	trace.SpanFromContext(ctx).SetAttributes(attribute.Bool("written by inner code", true))
	above.End()

	require.Len(t, f.exported.GetSpans(), 1)
	stub := f.spans()["above"]
	assert.Equal(t, codes.Unset, stub.Status.Code)
	assert.Empty(t, stub.Events)
	assert.Empty(t, stub.Links)
	assert.Equal(t, []attribute.KeyValue{attribute.Bool("written by inner code", true)}, stub.Attributes,
		"what inner code writes to the span in the context lands on the nearest that is on")
}

func TestSpanThatIsOnIsTheSDKsInEveryOtherRespect(t *testing.T) {
	f := newFixture(t, on)
	ctx, s := f.of(on).Start(t.Context(), "s", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attribute.Int("a", 1)))
	assert.Same(t, f.TracerProvider, s.TracerProvider())
	assert.Same(t, s, trace.SpanFromContext(ctx))
	assert.True(t, s.IsRecording())
	s.SetName("renamed")
	s.SetStatus(codes.Ok, "")
	s.SetAttributes(attribute.Int("b", 2))
	s.AddEvent("event")
	s.AddLink(trace.Link{SpanContext: remote(t)})
	s.RecordError(assert.AnError)
	s.End()
	assert.False(t, s.IsRecording())

	stub := f.spans()["renamed"]
	assert.Equal(t, s.SpanContext(), stub.SpanContext)
	assert.Equal(t, trace.SpanKindProducer, stub.SpanKind)
	assert.Equal(t, codes.Ok, stub.Status.Code)
	assert.Len(t, stub.Attributes, 2)
	assert.Len(t, stub.Events, 2)
	assert.Len(t, stub.Links, 1)
}

// parents is a span processor and a sampler that note whether they are shown a parent of
// the SDK's own type.
type parents struct {
	sdktrace.SpanProcessor
	sdktrace.Sampler
	processor, sampler []bool
}

func sdkParent(ctx context.Context) bool {
	_, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan)
	return ok
}

func (p *parents) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	p.processor = append(p.processor, sdkParent(ctx))
	p.SpanProcessor.OnStart(ctx, s)
}

func (p *parents) ShouldSample(params sdktrace.SamplingParameters) sdktrace.SamplingResult {
	p.sampler = append(p.sampler, sdkParent(params.ParentContext))
	return p.Sampler.ShouldSample(params)
}

func TestSDKIsShownItsOwnSpanAsTheParent(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	p := &parents{SpanProcessor: sdktrace.NewSimpleSpanProcessor(exported), Sampler: sdktrace.AlwaysSample()}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(p))
	gated, err := otelgate.NewTracerProvider(sdk, spangate.NewGate(on))
	require.NoError(t, err)

	ctx, above := gated.Group(on).Tracer("t").Start(t.Context(), "above")
	ctx, _ = gated.Group(off).Tracer("t").Start(ctx, "off")
	_, below := gated.Group(on).Tracer("t").Start(context.WithValue(ctx, key{}, 1), "below")
	below.End()
	above.End()

	assert.Equal(t, []bool{false, true}, p.processor)
	assert.Equal(t, []bool{false, true}, p.sampler)
	stubs := exported.GetSpans()
	require.Len(t, stubs, 2)
	assert.Equal(t, 1, stubs[1].ChildSpanCount, "the SDK counts the children of its own spans")
}

func TestContextOfASpanThatIsOnKeepsWhatIsInIt(t *testing.T) {
	f := newFixture(t, on)
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
	ctx, s := f.of(on).Start(parent, "s")
	defer s.End()
	assert.Equal(t, 1, ctx.Value(key{}))
	assert.Nil(t, ctx.Value("nobody's"))
	below, stop := context.WithCancel(ctx)
	defer stop()
	assert.Same(t, s, trace.SpanFromContext(below))
	cancel()
	<-below.Done()
	assert.ErrorIs(t, context.Cause(below), context.Canceled)
}

// A process may have two gated providers. Each answers for its own gate, under a span of
// the other as well.
func TestSpanOfAnotherGatedProvider(t *testing.T) {
	theirs, ours := newFixture(t, on), newFixture(t, 0)
	gated, s := theirs.of(on).Start(t.Context(), "above")
	defer s.End()
	inert, _ := theirs.of(off).Start(trace.ContextWithRemoteSpanContext(t.Context(), remote(t)), "above")
	for _, opts := range [][]trace.SpanStartOption{nil, {trace.WithSpanKind(trace.SpanKindServer)}} {
		ctx, s := ours.of(off).Start(gated, "off", opts...)
		assert.True(t, ctx == gated)
		checkInert(t, ours, s, trace.SpanContextFromContext(gated))

		ctx, s = ours.of(off).Start(inert, "off", opts...)
		checkInert(t, ours, s, trace.SpanContextFromContext(inert))
		assert.Same(t, s, trace.SpanFromContext(ctx))
	}
}

// The SDK's End records a panic only if the deferred call reaches it directly.
func TestDeferredEndRecordsAPanicThroughTheGate(t *testing.T) {
	f := newFixture(t, on)
	for name, tracer := range map[string]trace.Tracer{"gated": f.of(on), "bare": f.sdk.Tracer("test")} {
		assert.PanicsWithValue(t, "boom", func() {
			_, s := tracer.Start(t.Context(), name)
			defer s.End()
			panic("boom")
		})
		stub := f.spans()[name]
		require.Len(t, stub.Events, 1, name)
		assert.Equal(t, "exception", stub.Events[0].Name)
	}
}

// Two gates in a row are an AND, and stay transparent.
func TestGateOverAGate(t *testing.T) {
	inner := newFixture(t, on)
	gate := spangate.NewGate(on)
	outer, err := otelgate.NewTracerProvider(inner.TracerProvider, gate, otelgate.Rule{Group: on})
	require.NoError(t, err)
	innerOff, err := otelgate.NewTracerProvider(inner.Group(off), gate, otelgate.Rule{Group: on})
	require.NoError(t, err)

	ctx, above := outer.Tracer("t").Start(t.Context(), "above")
	got, s := innerOff.Tracer("t").Start(ctx, "off inside")
	assert.True(t, ctx == got)
	assert.False(t, s.IsRecording())
	assert.True(t, s.SpanContext().Equal(above.SpanContext()))
	assert.Same(t, innerOff, s.TracerProvider())
	s.End()
	above.End()
	assert.Len(t, inner.exported.GetSpans(), 1)
}
