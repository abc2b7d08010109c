// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

const (
	on  = spangate.BitRollout
	off = spangate.BitSandbox
)

type key struct{}

// checkInert asserts that a span is that of a site that is off, with this span context.
func checkInert(t *testing.T, f *fixture, s trace.Span, sc trace.SpanContext) {
	t.Helper()
	assert.False(t, s.IsRecording())
	assert.True(t, s.SpanContext().Equal(sc), "context %v, not %v", s.SpanContext(), sc)
	assert.Same(t, f.TracerProvider, s.TracerProvider())
}

func TestOffSiteUnderNoSpanReturnsItsContext(t *testing.T) {
	f := newFixture(t, on)
	half := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}})
	for name, ctx := range map[string]context.Context{
		"background":               t.Context(),
		"a value":                  context.WithValue(t.Context(), key{}, 1),
		"an invalid span context":  trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}),
		"an invalid remote one":    trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContext{}),
		"a trace ID, no span ID":   trace.ContextWithSpanContext(t.Context(), half),
		"a span of a no-op tracer": trace.ContextWithSpan(t.Context(), noop.Span{}),
	} {
		for opts := range optionLists() {
			got, s := f.tracerOf(off).Start(ctx, "off", opts...)
			assert.True(t, ctx == got, name)
			checkInert(t, f, s, trace.SpanContext{})
		}
	}
}

// optionLists has lists of options that take different code paths through Start. A site that is
// off returns the same for each.
func optionLists() iter.Seq[[]trace.SpanStartOption] {
	return slices.Values([][]trace.SpanStartOption{
		nil,
		{trace.WithAttributes(attribute.Int("a", 1)), trace.WithTimestamp(time.Now()), trace.WithSpanKind(trace.SpanKindServer)},
	})
}

// localParents are contexts with a local span that is on.
func localParents(t *testing.T, f *fixture) map[string]context.Context {
	raw, rawSpan := f.sdk.Tracer("raw").Start(t.Context(), "raw")
	gated, gatedSpan := f.tracerOf(on).Start(t.Context(), "gated")
	ungated, ungatedSpan := f.Tracer("no rule").Start(t.Context(), "ungated")
	t.Cleanup(func() { rawSpan.End(); gatedSpan.End(); ungatedSpan.End() })
	parents := map[string]context.Context{}
	for name, ctx := range map[string]context.Context{"raw": raw, "gated": gated, "ungated": ungated} {
		canceled, cancel := context.WithCancel(ctx)
		t.Cleanup(cancel)
		parents[name] = ctx
		parents[name+", a value"] = context.WithValue(ctx, key{}, 1)
		parents[name+", WithCancel"] = canceled
		parents[name+", WithoutCancel"] = context.WithoutCancel(ctx)
	}
	return parents
}

func TestOffSiteUnderASpanPutsAnInertSpanInItsPlace(t *testing.T) {
	f := newFixture(t, on)
	for name, ctx := range localParents(t, f) {
		for opts := range optionLists() {
			above := trace.SpanFromContext(ctx)
			got, s := f.tracerOf(off).Start(ctx, "off", opts...)
			checkInert(t, f, s, above.SpanContext())
			assert.Same(t, s, trace.SpanFromContext(got), name)
			assert.Equal(t, ctx.Value(key{}), got.Value(key{}), name)
			assert.Equal(t, ctx.Done(), got.Done(), name)

			// The next site that is off returns the same.
			again, s2 := f.tracerOf(off).Start(got, "off too", opts...)
			assert.True(t, got == again, name)
			assert.Same(t, s, s2, name)
		}
	}
}

// hook is a library whose instrumentation is a pair of hooks: it drops the span that it starts,
// and marks and ends the one that it later takes from the context.
func hook(t *testing.T, tracer trace.Tracer, ctx context.Context) {
	c, _ := tracer.Start(ctx, "call")
	c = context.WithValue(c, key{}, "between the hooks")
	s := trace.SpanFromContext(c)
	s.SetName("renamed by the library")
	s.SetStatus(codes.Error, "of the library's call")
	s.SetAttributes(attribute.Bool("library", true))
	s.AddEvent("library event")
	s.AddLink(trace.Link{SpanContext: remote(t)})
	s.RecordError(assert.AnError)
	s.End()
}

func TestLibraryThatEndsTheContextsSpanDoesNotEndItsCallers(t *testing.T) {
	f := newFixture(t, on)
	for name, start := range map[string]func(context.Context) (context.Context, trace.Span){
		"gated":   func(ctx context.Context) (context.Context, trace.Span) { return f.tracerOf(on).Start(ctx, "outer") },
		"ungated": func(ctx context.Context) (context.Context, trace.Span) { return f.Tracer("mine").Start(ctx, "outer") },
		"raw": func(ctx context.Context) (context.Context, trace.Span) {
			return f.sdk.Tracer("raw").Start(ctx, "outer")
		},
	} {
		for between, wrap := range map[string]func(context.Context) context.Context{
			"nothing":          func(ctx context.Context) context.Context { return ctx },
			"a value":          func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) },
			"WithoutCancel":    context.WithoutCancel,
			"another off site": func(ctx context.Context) context.Context { ctx, _ = f.tracerOf(off).Start(ctx, "off"); return ctx },
		} {
			f.exported.Reset()
			ctx, outer := start(t.Context())
			hook(t, f.tracerOf(off), wrap(ctx))
			assert.True(t, outer.IsRecording(), "%s, %s: the library ended its caller's span", name, between)
			outer.SetAttributes(attribute.Bool("mine", true))
			outer.End()

			require.Len(t, f.exported.GetSpans(), 1)
			stub := f.exported.GetSpans()[0]
			assert.Equal(t, "outer", stub.Name)
			assert.Equal(t, sdktrace.Status{}, stub.Status)
			assert.Equal(t, []attribute.KeyValue{attribute.Bool("mine", true)}, stub.Attributes)
			assert.Empty(t, stub.Events)
			assert.Empty(t, stub.Links)
		}
	}
}

// plainSpan records and has no span context, like a span of an implementation without IDs.
type plainSpan struct {
	noop.Span
	ended bool
}

func (s *plainSpan) IsRecording() bool          { return !s.ended }
func (s *plainSpan) End(...trace.SpanEndOption) { s.ended = true }

func TestLibraryDoesNotEndASpanWithoutASpanContext(t *testing.T) {
	f := newFixture(t, on)
	for _, opts := range [][]trace.SpanStartOption{nil, {trace.WithNewRoot()}} {
		s := new(plainSpan)
		ctx := trace.ContextWithSpan(t.Context(), s)
		got, inert := f.tracerOf(off).Start(ctx, "off", opts...)
		checkInert(t, f, inert, trace.SpanContext{})
		assert.Same(t, inert, trace.SpanFromContext(got))
		trace.SpanFromContext(got).End()
		assert.False(t, s.ended, "the library ended its caller's span")
	}
}

// Some instrumentation takes its provider from the span in the context.
func TestGatedProviderIsFoundBeneathASiteThatIsOff(t *testing.T) {
	f := newFixture(t, on)
	parents := localParents(t, f)
	parents["a bare span context"] = trace.ContextWithSpanContext(t.Context(), remote(t).WithRemote(false))
	parents["a remote span context"] = trace.ContextWithRemoteSpanContext(t.Context(), remote(t))
	for name, ctx := range parents {
		got, _ := f.tracerOf(off).Start(ctx, "off")
		assert.Same(t, f.TracerProvider, trace.SpanFromContext(got).TracerProvider(), name)
		_, child := trace.SpanFromContext(got).TracerProvider().Tracer("found").Start(got, "child")
		child.End()
		stub := f.spans()["child"]
		assert.Equal(t, trace.SpanContextFromContext(ctx), stub.Parent, name)
	}
}

func TestOffUnderARemoteParentKeepsTheTraceState(t *testing.T) {
	f := newFixture(t, on)
	sc := remote(t)
	ctx := trace.ContextWithRemoteSpanContext(context.WithValue(t.Context(), key{}, 1), sc)
	got, s := f.tracerOf(off).Start(ctx, "off")
	checkInert(t, f, s, sc)
	assert.Same(t, s, trace.SpanFromContext(got))
	assert.True(t, s.SpanContext().IsRemote())
	assert.Equal(t, "vendor=kept", s.SpanContext().TraceState().String())
	assert.Equal(t, 1, got.Value(key{}))

	again, s2 := f.tracerOf(off).Start(got, "off too")
	assert.True(t, got == again)
	assert.Same(t, s, s2)

	_, child := f.tracerOf(on).Start(got, "child")
	child.End()
	stub := f.spans()["child"]
	assert.True(t, stub.Parent.Equal(sc))
	assert.Equal(t, "vendor=kept", stub.SpanContext.TraceState().String())
}

// So what inner code writes to the current span lands on the nearest span that is on.
func TestTransparentSiteReturnsItsContext(t *testing.T) {
	f := newFixture(t, on, otelgate.Rule{Scope: "transparent", Group: off, Transparent: true})
	tracers := map[string]trace.Tracer{
		"rule":                       f.Tracer("transparent"),
		"view":                       f.Group(off).Transparent().Tracer("any"),
		"view, the other way round":  f.Transparent().Group(off).Tracer("any"),
		"view of another gate's":     f.WithGate(new(spangate.Gate)).Transparent().Group(on).Tracer("any"),
		"view of a rule that is not": f.Transparent().Tracer("transparent"),
	}
	for name, tracer := range tracers {
		for parent, ctx := range localParents(t, f) {
			for opts := range optionLists() {
				got, s := tracer.Start(ctx, "off", opts...)
				assert.True(t, ctx == got, "%s: %s", name, parent)
				checkInert(t, f, s, trace.SpanContextFromContext(ctx))
				s.End()
				s.SetName("changed")
				assert.True(t, trace.SpanFromContext(ctx).IsRecording())
			}
		}
		// It puts its inert span in the context only if no gated provider would be found there.
		for parent, ctx := range map[string]context.Context{
			"remote":     trace.ContextWithRemoteSpanContext(t.Context(), remote(t)),
			"bare":       trace.ContextWithSpanContext(t.Context(), remote(t).WithRemote(false)),
			"bare no-op": bareNoop(t),
		} {
			got, s := tracer.Start(ctx, "off")
			checkInert(t, f, s, trace.SpanContextFromContext(ctx))
			assert.Same(t, s, trace.SpanFromContext(got), "%s: %s", name, parent)
		}
		// A new root has no parent, as at any site.
		ctx, above := f.tracerOf(on).Start(t.Context(), "above")
		got, s := tracer.Start(ctx, "off", trace.WithNewRoot())
		checkInert(t, f, s, trace.SpanContext{})
		assert.False(t, trace.SpanContextFromContext(got).IsValid(), name)
		above.End()
	}
	// A transparent site that is on is like any other.
	f.gate.Enable(off)
	ctx, s := tracers["rule"].Start(t.Context(), "on")
	assert.True(t, s.IsRecording())
	assert.Same(t, s, trace.SpanFromContext(ctx))
	s.End()
}

// bareNoop is the context that OpenTelemetry's no-op tracer leaves beneath a sampled span.
func bareNoop(t *testing.T) context.Context {
	sdk := sdktrace.NewTracerProvider()
	ctx, s := sdk.Tracer("raw").Start(t.Context(), "raw")
	t.Cleanup(func() { s.End() })
	ctx, _ = noop.Tracer{}.Start(ctx, "no-op")
	return ctx
}

func TestOffSiteWithNewRootRemovesTheParent(t *testing.T) {
	f := newFixture(t, on)
	member, err := baggage.NewMember("kept", "yes")
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	base := baggage.ContextWithBaggage(t.Context(), bag)

	gated, gatedSpan := f.tracerOf(on).Start(base, "above")
	defer gatedSpan.End()
	raw, rawSpan := f.sdk.Tracer("raw").Start(base, "above")
	defer rawSpan.End()
	distant := trace.ContextWithRemoteSpanContext(base, remote(t))
	inert, _ := f.tracerOf(off).Start(distant, "off")

	for name, ctx := range map[string]context.Context{
		"no span": base, "gated": gated, "ungated": raw, "remote": distant, "inert": inert,
	} {
		f.exported.Reset()
		got, s := f.tracerOf(off).Start(ctx, "off", trace.WithNewRoot(), trace.WithAttributes(attribute.Int("a", 1)))
		checkInert(t, f, s, trace.SpanContext{})
		assert.False(t, trace.SpanContextFromContext(got).IsValid(), name)
		assert.Equal(t, "yes", baggage.FromContext(got).Member("kept").Value(), "only the span is removed")

		_, child := f.tracerOf(on).Start(got, "child")
		child.End()
		stub := f.spans()["child"]
		assert.False(t, stub.Parent.IsValid(), name)
		assert.NotEqual(t, trace.SpanContextFromContext(ctx).TraceID(), stub.SpanContext.TraceID(), name)
	}
	got, _ := f.tracerOf(off).Start(base, "off", trace.WithNewRoot())
	assert.True(t, base == got, "there is no parent to remove")
	got, _ = f.tracerOf(off).Start(distant, "off", trace.WithNewRoot())
	again, _ := f.tracerOf(off).Start(got, "off", trace.WithNewRoot())
	assert.True(t, got == again, "the parent is removed already")
}

// The SDK joins the trace of a parent that has only a trace ID.
func TestOffSiteWithNewRootRemovesAParentThatHasOnlyATraceID(t *testing.T) {
	f := newFixture(t, on)
	half := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}, Remote: true})
	ctx, _ := f.tracerOf(off).Start(trace.ContextWithSpanContext(t.Context(), half), "off", trace.WithNewRoot())
	_, child := f.tracerOf(on).Start(ctx, "child")
	assert.NotEqual(t, half.TraceID(), child.SpanContext().TraceID())
	child.End()
}

func TestOnWithNewRootStartsATrace(t *testing.T) {
	f := newFixture(t, on)
	ctx, above := f.tracerOf(on).Start(t.Context(), "above")
	_, s := f.tracerOf(on).Start(ctx, "root", trace.WithNewRoot())
	s.End()
	above.End()
	assert.False(t, f.spans()["root"].Parent.IsValid())
	assert.NotEqual(t, f.spans()["above"].SpanContext.TraceID(), f.spans()["root"].SpanContext.TraceID())
}

func TestNilContextCountsAsBackground(t *testing.T) {
	f := newFixture(t, on)
	var none context.Context
	for _, tracer := range []trace.Tracer{f.tracerOf(on), f.tracerOf(off)} {
		for _, opts := range [][]trace.SpanStartOption{nil, {trace.WithNewRoot()}, {trace.WithSpanKind(trace.SpanKindServer)}} {
			ctx, s := tracer.Start(none, "s", opts...)
			require.NotNil(t, ctx)
			s.End()
		}
	}
	assert.Len(t, f.exported.GetSpans(), 3)
	assert.Equal(t, trace.SpanKindServer, f.spans()["s"].SpanKind, "the last one's")
}

func TestSpanThatIsOnForwardsEverythingToTheSDK(t *testing.T) {
	f := newFixture(t, on)
	ctx, s := f.tracerOf(on).Start(t.Context(), "s", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attribute.Int("a", 1)))
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

func TestSpanThatIsOnHasTheSDKsTypes(t *testing.T) {
	f := newFixture(t, on)
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	unsampled, err := otelgate.NewTracerProvider(never, f.gate)
	require.NoError(t, err)
	for name, p := range map[string]struct {
		gated *otelgate.TracerProvider
		bare  trace.TracerProvider
	}{
		"recording":   {f.TracerProvider, f.sdk},
		"not sampled": {unsampled, never},
	} {
		gated, s := p.gated.Group(on).Tracer("t").Start(t.Context(), "gated")
		assert.Same(t, p.gated, trace.SpanFromContext(gated).TracerProvider(), name)
		bare, s2 := p.bare.Tracer("t").Start(t.Context(), "bare")
		_, want := trace.SpanFromContext(bare).(sdktrace.ReadOnlySpan)
		_, got := trace.SpanFromContext(gated).(sdktrace.ReadOnlySpan)
		assert.Equal(t, want, got, name)
		_, want = trace.SpanFromContext(bare).(sdktrace.ReadWriteSpan)
		_, got = trace.SpanFromContext(gated).(sdktrace.ReadWriteSpan)
		assert.Equal(t, want, got, name)
		assert.Equal(t, name == "recording", want, name)
		s.End()
		s2.End()
	}
}

// labels is a base that returns one span and puts another in the context, which it expects there
// when the next span starts, like a provider that adds profiling labels.
type labels struct {
	embedded.TracerProvider
	base  trace.TracerProvider
	found []bool
}

type labelsTracer struct {
	embedded.Tracer
	base trace.Tracer
	p    *labels
}

type labelsSpan struct{ trace.Span }

func (p *labels) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return labelsTracer{base: p.base.Tracer(name, opts...), p: p}
}

func (t labelsTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	_, found := trace.SpanFromContext(ctx).(*labelsSpan)
	t.p.found = append(t.p.found, found)
	ctx, s := t.base.Start(ctx, name, opts...)
	return trace.ContextWithSpan(ctx, &labelsSpan{s}), s
}

func TestBaseFindsTheSpanThatItPutInTheContext(t *testing.T) {
	f := newFixture(t, on)
	base := &labels{base: f.sdk}
	p, err := otelgate.NewTracerProvider(base, f.gate)
	require.NoError(t, err)
	tracer := p.Group(on).Tracer("t")
	ctx, above := tracer.Start(t.Context(), "above")
	inert, _ := p.Group(off).Tracer("t").Start(ctx, "off")
	for _, parent := range []context.Context{ctx, context.WithValue(ctx, key{}, 1), inert} {
		_, s := tracer.Start(parent, "below")
		s.End()
	}
	above.End()
	assert.Equal(t, []bool{false, true, true, true}, base.found)

	// The same beneath two gates.
	base.found = nil
	twice := gatedOver(t, p.Group(on)).Group(on).Tracer("t")
	outermost, s := twice.Start(t.Context(), "above")
	_, s2 := twice.Start(context.WithValue(outermost, key{}, 1), "below")
	s2.End()
	s.End()
	assert.Equal(t, []bool{false, true}, base.found)
	assert.Same(t, p, trace.SpanFromContext(ctx).TracerProvider())
}

// parents is a span processor and a sampler that record whether the parent is of the SDK's own
// type.
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

func TestSDKSeesItsOwnSpanAsTheParent(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	p := &parents{SpanProcessor: sdktrace.NewSimpleSpanProcessor(exported), Sampler: sdktrace.AlwaysSample()}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(p))
	gated, err := otelgate.NewTracerProvider(sdk, spangate.NewGate(on))
	require.NoError(t, err)

	ctx, above := gated.Group(on).Tracer("t").Start(t.Context(), "above")
	inert, _ := gated.Group(off).Tracer("t").Start(ctx, "off")
	parents := []context.Context{ctx, context.WithValue(ctx, key{}, 1), inert, context.WithValue(inert, key{}, 1)}
	for _, parent := range parents {
		_, below := gated.Group(on).Tracer("t").Start(parent, "below")
		below.End()
	}
	above.End()

	assert.Equal(t, []bool{false, true, true, true, true}, p.processor)
	assert.Equal(t, []bool{false, true, true, true, true}, p.sampler)
	stubs := exported.GetSpans()
	require.Len(t, stubs, 5)
	assert.Equal(t, len(parents), stubs[4].ChildSpanCount, "the SDK counts the children of its own spans")
}

func TestContextOfASpanThatIsOnKeepsItsValues(t *testing.T) {
	f := newFixture(t, on)
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
	ctx, s := f.tracerOf(on).Start(parent, "s")
	defer s.End()
	assert.Equal(t, 1, ctx.Value(key{}))
	assert.Nil(t, ctx.Value("absent"))
	below, stop := context.WithCancel(ctx)
	defer stop()
	assert.Same(t, s, trace.SpanFromContext(below))
	cancel()
	assert.ErrorIs(t, context.Cause(below), context.Canceled)

	// Values that the base sets are kept too.
	for _, sdk := range []trace.TracerProvider{f.sdk, noop.NewTracerProvider()} {
		p := gatedOver(t, baseOf{tracer: funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) {
			ctx, s := sdk.Tracer("t").Start(ctx, "s")
			return context.WithValue(ctx, key{}, "the base's"), s
		}}})
		ctx, s := p.Group(on).Tracer("t").Start(t.Context(), "s")
		assert.Equal(t, "the base's", ctx.Value(key{}))
		assert.Same(t, s, trace.SpanFromContext(ctx))
		s.End()
	}
}

// The span above is of the same provider, or of one beneath or above it in a stack.
func TestContextOfASpanThatIsOnKeepsValuesSetUnderTheSpanAbove(t *testing.T) {
	for name, sampler := range map[string]sdktrace.Sampler{"sampled": sdktrace.AlwaysSample(), "not sampled": sdktrace.NeverSample()} {
		spanInContext := map[string]trace.Span{}
		base := contextsOf{sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)), spanInContext}
		p := gatedOver(t, base)
		outer := gatedOver(t, p.Group(on))
		for _, above := range []*otelgate.TracerProvider{p, outer} {
			for _, below := range []*otelgate.TracerProvider{p, outer} {
				ctx, s := above.Group(on).Tracer("t").Start(t.Context(), "above")
				_, s1 := below.Group(on).Tracer("t").Start(ctx, "right below")
				ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, 1))
				got, s2 := below.Group(on).Tracer("t").Start(ctx, "below")
				assert.Equal(t, 1, got.Value(key{}), name)
				cancel()
				assert.ErrorIs(t, got.Err(), context.Canceled, name)

				direct, s3 := below.Group(on).Tracer("t").Start(got, "direct")
				assert.Equal(t, 1, direct.Value(key{}), name)
				for child, span := range spanInContext {
					_, gated := span.TracerProvider().(*otelgate.TracerProvider)
					assert.False(t, gated, "%s, %s: the base sees a gated span", name, child)
				}
				for _, s := range []trace.Span{s3, s2, s1, s} {
					s.End()
				}
			}
		}
	}
}

// contextsOf is a base that records the span in the context of each Start, by the name of the
// span that starts.
type contextsOf struct {
	trace.TracerProvider
	spanInContext map[string]trace.Span
}

func (b contextsOf) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return contextsOfTracer{b.TracerProvider.Tracer(name, opts...), b.spanInContext}
}

type contextsOfTracer struct {
	trace.Tracer
	spanInContext map[string]trace.Span
}

func (t contextsOfTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.spanInContext[name] = trace.SpanFromContext(ctx)
	return t.Tracer.Start(ctx, name, opts...)
}

// A process may have two gated providers, and the spans of one be under those of the other.
func TestOffSiteUnderASpanOfAnotherGatedProvider(t *testing.T) {
	theirs, ours := newFixture(t, on), newFixture(t, 0)
	gated, s := theirs.tracerOf(on).Start(t.Context(), "above")
	defer s.End()
	dropped, _ := theirs.tracerOf(off).Start(gated, "off")
	inert, _ := theirs.tracerOf(off).Start(trace.ContextWithRemoteSpanContext(t.Context(), remote(t)), "above")
	for _, parent := range []context.Context{gated, dropped, inert} {
		for opts := range optionLists() {
			ctx, s := ours.tracerOf(off).Start(parent, "off", opts...)
			checkInert(t, ours, s, trace.SpanContextFromContext(parent))
			assert.Same(t, s, trace.SpanFromContext(ctx))
		}
		ctx, s := ours.Group(off).Transparent().Tracer("t").Start(parent, "off")
		checkInert(t, ours, s, trace.SpanContextFromContext(parent))
		assert.Equal(t, !trace.SpanContextFromContext(parent).IsRemote(), ctx == parent)
	}
}

// The SDK's End records a panic only if the deferred call reaches it directly.
func TestDeferredEndRecordsAPanicThroughTheGate(t *testing.T) {
	f := newFixture(t, on)
	twice, err := otelgate.NewTracerProvider(f.Group(on), f.gate)
	require.NoError(t, err)
	for name, tracer := range map[string]trace.Tracer{"gated": f.tracerOf(on), "gated twice": twice.Group(on).Tracer("test"), "bare": f.sdk.Tracer("test")} {
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

func TestSpanUnderTwoGatesIsOnIfItsGroupIsOnInBoth(t *testing.T) {
	inner := newFixture(t, on)
	gate := spangate.NewGate(on)
	outer, err := otelgate.NewTracerProvider(inner.TracerProvider, gate, otelgate.Rule{Group: on})
	require.NoError(t, err)
	innerOff, err := otelgate.NewTracerProvider(inner.Group(off), gate, otelgate.Rule{Group: on})
	require.NoError(t, err)

	ctx, above := outer.Tracer("t").Start(t.Context(), "above")
	_, isSDKs := above.(sdktrace.ReadWriteSpan)
	assert.True(t, isSDKs)
	got, s := innerOff.Tracer("t").Start(ctx, "off inside")
	assert.False(t, s.IsRecording())
	assert.True(t, s.SpanContext().Equal(above.SpanContext()))
	assert.Same(t, innerOff, s.TracerProvider())
	assert.Same(t, s, trace.SpanFromContext(got))
	s.End()
	require.NoError(t, otelgate.Do(ctx, innerOff.Tracer("t"), "off inside", func(inner context.Context, s trace.Span) error {
		assert.True(t, ctx == inner, "Do is transparent, whichever gate is off")
		return nil
	}))

	// A new root has no parent although only the inner gate is off.
	got, s = innerOff.Tracer("t").Start(ctx, "off inside", trace.WithNewRoot())
	assert.False(t, s.SpanContext().IsValid())
	assert.False(t, trace.SpanContextFromContext(got).IsValid())

	got, _ = innerOff.Tracer("t").Start(t.Context(), "off inside", trace.WithNewRoot())
	assert.True(t, t.Context() == got, "there is no parent to remove")

	_, below := outer.Tracer("t").Start(context.WithValue(ctx, key{}, 1), "below")
	below.End()
	_, sibling := inner.tracerOf(on).Start(ctx, "the inner provider's own")
	sibling.End()
	above.End()
	require.Len(t, inner.exported.GetSpans(), 3)
	assert.Equal(t, 2, inner.spans()["above"].ChildSpanCount, "the SDK sees its own span through both")
}
