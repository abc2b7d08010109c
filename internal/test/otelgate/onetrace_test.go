// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// twoBranches starts a span of group 1, and beneath it two branches of the groups 2 and 4.
func twoBranches(form string, ctx context.Context, p *otelgate.TracerProvider) {
	siteForms[form](ctx, p, 1, "top", func(ctx context.Context, _ trace.Span) {
		for _, branch := range []string{"left", "right"} {
			siteForms[form](ctx, p, 2, branch, func(ctx context.Context, _ trace.Span) {
				siteForms[form](ctx, p, 4, branch+" leaf", func(context.Context, trace.Span) {})
			})
		}
	})
}

var parentNames = map[string][]string{
	"top": nil, "left": {"top"}, "right": {"top"},
	"left leaf": {"left", "top"}, "right leaf": {"right", "top"},
}

// checkOneTrace asserts that the spans are in one trace, each beneath the nearest that is on.
func checkOneTrace(t *testing.T, spans map[string]tracetest.SpanStub, above trace.SpanContext, msg ...any) {
	t.Helper()
	ids := map[trace.TraceID]bool{}
	for name, s := range spans {
		ids[s.SpanContext.TraceID()] = true
		want := above.SpanID()
		for _, parent := range parentNames[name] {
			if p, on := spans[parent]; on {
				want = p.SpanContext.SpanID()
				break
			}
		}
		assert.Equal(t, want, s.Parent.SpanID(), append([]any{name}, msg...)...)
	}
	assert.LessOrEqual(t, len(ids), 1, msg...)
}

func TestOneTraceUnderEveryMaskAndSampler(t *testing.T) {
	for name, sampler := range map[string]sdktrace.Sampler{
		"always": sdktrace.AlwaysSample(), "never": sdktrace.NeverSample(),
		"ratio": sdktrace.TraceIDRatioBased(0.5), "parent": sdktrace.ParentBased(sdktrace.AlwaysSample()),
		"parent or ratio": sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5)),
	} {
		f := newFixture(t, 0)
		sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(f.exported), sdktrace.WithSampler(sampler))
		p, err := otelgate.NewTracerProvider(sdk, f.gate, otelgate.OneTrace())
		require.NoError(t, err)
		for form := range siteForms {
			for mask := range spangate.Mask(8) {
				for range 4 { // for samplers that keep half of the traces
					f.exported.Reset()
					f.gate.Store(mask)
					twoBranches(form, t.Context(), p)
					spans := f.spans()
					all := (mask & 1).Count() + 2*(mask&6).Count()
					assert.True(t, len(spans) == 0 && name != "always" && name != "parent" || len(spans) == all && name != "never",
						"%s: %d of %d spans: the sampler decides about the trace as a whole", name, len(spans), all)
					checkOneTrace(t, spans, trace.SpanContext{}, "%s, %s, %v", name, form, mask)
				}
			}
		}
	}
}

func TestOneTraceLeavesWhatIsUnderASpanAlone(t *testing.T) {
	f := newFixture(t, 0, otelgate.OneTrace())
	local, s := f.Tracer("no rule").Start(t.Context(), "above")
	defer s.End()
	for form := range siteForms {
		for mask := range spangate.Mask(8) {
			for _, ctx := range []context.Context{local, trace.ContextWithRemoteSpanContext(t.Context(), remote(t))} {
				f.exported.Reset()
				f.gate.Store(mask)
				twoBranches(form, ctx, f.TracerProvider)
				checkOneTrace(t, f.spans(), trace.SpanContextFromContext(ctx), form, mask)
			}
		}
	}
}

// An invalid span context has no trace ID to join. One with a trace ID is joined as the SDK does.
func TestOneTraceKeepsATraceIDOfTheContext(t *testing.T) {
	f := newFixture(t, on, otelgate.OneTrace())
	for _, id := range []trace.TraceID{{}, {9}} {
		for _, remote := range []bool{false, true} {
			ctx := trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}.WithTraceID(id).WithRemote(remote))
			ctx, off := f.tracerOf(off).Start(ctx, "off")
			assert.False(t, off.IsRecording())
			for range 2 {
				_, s := f.tracerOf(on).Start(ctx, "on")
				s.End()
			}
			stubs := f.exported.GetSpans()
			require.Len(t, stubs, 2)
			assert.Equal(t, stubs[0].SpanContext.TraceID(), stubs[1].SpanContext.TraceID())
			assert.Equal(t, id.IsValid(), id == stubs[0].SpanContext.TraceID())
			f.exported.Reset()
		}
	}
}

func TestOneTraceOfANewRootIsAnother(t *testing.T) {
	f := newFixture(t, on, otelgate.OneTrace())
	ctx, above := f.tracerOf(on).Start(t.Context(), "above")
	defer above.End()
	ids := map[trace.TraceID]int{above.SpanContext().TraceID(): 1}
	inner, _ := f.tracerOf(off).Start(ctx, "off", trace.WithNewRoot())
	for _, ctx := range []context.Context{inner, inner, inner} {
		_, s := f.tracerOf(on).Start(ctx, "on")
		ids[s.SpanContext().TraceID()]++
		assert.False(t, s.(sdktrace.ReadOnlySpan).Parent().SpanID().IsValid())
		s.End()
	}
	again, _ := f.tracerOf(off).Start(inner, "off", trace.WithNewRoot())
	_, s := f.tracerOf(on).Start(again, "on")
	ids[s.SpanContext().TraceID()]++
	s.End()
	assert.Len(t, ids, 3)
}

func TestOneTraceTakesTheIDOfItsFunction(t *testing.T) {
	id := trace.TraceID{7}
	f := newFixture(t, on, otelgate.OneTrace(func(ctx context.Context) trace.TraceID {
		assert.Equal(t, 1, ctx.Value(key{}))
		return id
	}))
	ctx := context.WithValue(t.Context(), key{}, 1)
	inner, inert := f.tracerOf(off).Start(ctx, "off")
	_, s := f.tracerOf(on).Start(inner, "on")
	s.End()
	assert.Equal(t, id, inert.SpanContext().TraceID())
	assert.Equal(t, id, s.SpanContext().TraceID())
	assert.Equal(t, trace.FlagsSampled, s.SpanContext().TraceFlags(), "not drawn at random")

	id = trace.TraceID{} // the root is as without OneTrace
	for _, opts := range [][]trace.SpanStartOption{nil, {trace.WithNewRoot()}} {
		inner, inert = f.tracerOf(off).Start(ctx, "off", opts...)
		assert.True(t, ctx == inner)
		checkInert(t, f, inert, trace.SpanContext{})
		_, s = f.tracerOf(on).Start(inner, "on", opts...)
		s.End()
		assert.True(t, s.SpanContext().IsValid())
	}
}

// So processes that know the ID in another way make one trace, whatever is on in each.
func TestRootThatIsOnHasTheIDOfTheFunctionToo(t *testing.T) {
	asked := 0
	f := newFixture(t, on, otelgate.OneTrace(func(context.Context) trace.TraceID { asked++; return trace.TraceID{7} }))
	ctx, root := f.tracerOf(on).Start(t.Context(), "root")
	_, below := f.tracerOf(on).Start(ctx, "below", trace.WithAttributes())
	below.End()
	root.End()
	_, s := f.tracerOf(on).Start(trace.ContextWithRemoteSpanContext(t.Context(), remote(t)), "remote")
	s.End()
	assert.Equal(t, 1, asked)
	_, s = f.tracerOf(on).Start(ctx, "new root", trace.WithNewRoot())
	s.End()
	assert.Equal(t, 2, asked)
	spans := f.spans()
	for _, name := range []string{"root", "below", "new root"} {
		assert.Equal(t, trace.TraceID{7}, spans[name].SpanContext.TraceID(), name)
	}
	for _, name := range []string{"root", "new root"} {
		assert.False(t, spans[name].Parent.SpanID().IsValid(), name)
	}
	assert.Equal(t, remote(t).TraceID(), spans["remote"].SpanContext.TraceID())
}

// Nothing can join a trace that has no span yet.
func TestOneTraceSendsNoHeaderUntilASpanIsOn(t *testing.T) {
	for _, m := range modes {
		if m.name == "found through the span" {
			continue // under no span, otelhttp's client finds none
		}
		t.Run(m.name, func(t *testing.T) {
			f := newFleet(t, m, otelgate.OneTrace())
			for _, mask := range spineMasks() {
				f.exported.Reset()
				f.headers = nil
				f.gate.Store(mask)
				ctx, rollout := f.tracerOf(spangate.BitRollout).Start(t.Context(), "rollout")
				id := rollout.SpanContext().TraceID()
				assert.True(t, id.IsValid())
				f.get(t, ctx, f.agent)
				f.get(t, ctx, f.agent)
				rollout.End()
				if !mask.HasAny(spangate.BitRollout | spangate.BitHTTPClient) {
					assert.Empty(t, f.headers[0])
					continue
				}
				for _, s := range f.exported.GetSpans() {
					assert.Equal(t, id, s.SpanContext.TraceID(), "%v: %s", mask, s.Name)
				}
			}
		})
	}
}

// The operator is told of the group whose span the trace would begin with, and of no group beneath.
func TestOneTraceReportsTheRootThatIsOff(t *testing.T) {
	f := newFixture(t, 0, otelgate.OneTrace())
	nest("Start", t.Context(), f.TracerProvider, []spangate.Mask{1, 2, 4}, func(context.Context) {})
	assert.Equal(t, spangate.Mask(1), f.Roots(f.gate))
	nest("Do", t.Context(), f.TracerProvider, []spangate.Mask{8, 4}, func(context.Context) {})
	assert.Equal(t, spangate.Mask(9), f.Roots(f.gate))
	f.tracerOf(16).Start(t.Context(), "off", trace.WithNewRoot())
	assert.Equal(t, spangate.Mask(25), f.Roots(f.gate))
}

// Where an override is chosen and the root is not on by it, the spans beneath have one trace too, and
// where none is chosen, the trace keeps the ID that was asked about.
func TestOneTraceAndOverridesAgreeOnTheID(t *testing.T) {
	c := new(chosen)
	f := newFixture(t, 0, otelgate.Overrides(c.choose), otelgate.OneTrace())
	f.Group(1).Tracer("t")
	for form := range siteForms {
		for i := range 8 * 8 {
			enabled, overridden := spangate.Mask(i%8), spangate.Mask(i/8)
			c.override = overrideOf("o", overridden)
			if overridden == 0 {
				c.override = nil
			}
			f.exported.Reset()
			f.gate.Store(enabled)
			f.gate.SetReach(7)
			twoBranches(form, t.Context(), f.TracerProvider)
			asked := c.take()
			require.Len(t, asked, 1)
			checkOneTrace(t, f.spans(), trace.SpanContext{}, form, enabled, overridden)
			for _, s := range f.spans() {
				assert.Equal(t, asked[0].TraceID(), s.SpanContext.TraceID())
			}
		}
	}
}

func TestOneTraceWithoutAFunctionOrWithTwoIsAnInvalidOption(t *testing.T) {
	id := func(context.Context) trace.TraceID { return trace.TraceID{1} }
	for _, opt := range []otelgate.Option{otelgate.OneTrace(nil), otelgate.OneTrace(id, id)} {
		_, err := otelgate.NewTracerProvider(newFixture(t, 0).sdk, new(spangate.Gate), opt)
		assert.ErrorIs(t, err, otelgate.ErrInvalidOption)
		assert.ErrorContains(t, err, "OneTrace was given")
	}
}
