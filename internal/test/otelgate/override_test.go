// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// overrideOf returns an override that turns on the groups of m, on every gate.
func overrideOf(id string, m spangate.Mask) *spangate.Override {
	return spangate.NewOverride(spangate.OverrideName{ID: id}, func(_ *spangate.Gate, asked spangate.Mask) bool { return asked.HasAny(m) })
}

// attributeOf returns the value of an attribute of a span, or "".
func attributeOf(s tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return fmt.Sprint(a.Value.AsInterface())
		}
	}
	return ""
}

// siteForms are the ways to start a span of group g and call inner in it.
var siteForms = map[string]func(ctx context.Context, p *otelgate.TracerProvider, g spangate.Mask, name string, inner func(context.Context, trace.Span)){
	"Start": func(ctx context.Context, p *otelgate.TracerProvider, g spangate.Mask, name string, inner func(context.Context, trace.Span)) {
		ctx, s := p.Group(g).Tracer("t").Start(ctx, name)
		defer s.End()
		inner(ctx, s)
	},
	"options": func(ctx context.Context, p *otelgate.TracerProvider, g spangate.Mask, name string, inner func(context.Context, trace.Span)) {
		ctx, s := p.Group(g).Tracer("t").Start(ctx, name, trace.WithAttributes(attribute.Int("a", 1)))
		defer s.End()
		inner(ctx, s)
	},
	"transparent": func(ctx context.Context, p *otelgate.TracerProvider, g spangate.Mask, name string, inner func(context.Context, trace.Span)) {
		ctx, s := p.Group(g).Transparent().Tracer("t").Start(ctx, name)
		defer s.End()
		inner(ctx, s)
	},
	"Do": func(ctx context.Context, p *otelgate.TracerProvider, g spangate.Mask, name string, inner func(context.Context, trace.Span)) {
		_ = otelgate.Do(ctx, p.Group(g).Tracer("t"), name, func(ctx context.Context, s trace.Span) error {
			inner(ctx, s)
			return nil
		})
	},
}

// nest starts a span of each group in the span before, and calls last in the innermost.
func nest(form string, ctx context.Context, p *otelgate.TracerProvider, groups []spangate.Mask, last func(context.Context)) {
	if len(groups) == 0 {
		last(ctx)
		return
	}
	siteForms[form](ctx, p, groups[0], groups[0].String(), func(ctx context.Context, _ trace.Span) {
		nest(form, ctx, p, groups[1:], last)
	})
}

// What is on for all, and what the override turns on within the reach, is one chain, whatever the
// form of the sites and whatever is above.
func TestOverrideAndGateMakeOneChainOfSpans(t *testing.T) {
	groups := []spangate.Mask{1, 2, 4}
	f := newFixture(t, 0)
	gatedCtx, gated := f.Tracer("no rule").Start(t.Context(), "above")
	defer gated.End()
	for above, ctx := range map[string]context.Context{
		"nothing":     t.Context(),
		"a gated":     gatedCtx,
		"a remote":    trace.ContextWithRemoteSpanContext(t.Context(), remote(t)),
		"a raw inert": trace.ContextWithSpanContext(gatedCtx, gated.SpanContext()),
	} {
		for form := range siteForms {
			for i := range 8 * 8 * 8 {
				enabled, reach, overridden := spangate.Mask(i%8), spangate.Mask(i/8%8), spangate.Mask(i/64)
				f.exported.Reset()
				f.gate.Store(enabled)
				f.gate.SetReach(reach)
				nest(form, spangate.ContextWithOverride(ctx, overrideOf("o", overridden)), f.TracerProvider, groups, func(context.Context) {})

				on := enabled | reach&overridden
				spans := f.spans()
				require.Len(t, spans, on.Count(), "%s, %s: on %v, reach %v, override %v", above, form, enabled, reach, overridden)
				parent := trace.SpanContextFromContext(ctx).SpanID()
				for g := range on.Bits() {
					require.Equal(t, parent, spans[g.String()].Parent.SpanID(), "%s, %s: on %v, reach %v, override %v", above, form, enabled, reach, overridden)
					parent = spans[g.String()].SpanContext.SpanID()
				}
			}
		}
	}
	f.gate.SetReach(0)
}

// The rules about a context hold for a site that an armed gate leaves off.
func TestArmedSiteThatStaysOffReturnsWhatAnUnarmedOneDoes(t *testing.T) {
	f := newFixture(t, on, otelgate.Overrides(func(context.Context, trace.SpanContext) *spangate.Override { return nil }))
	outer := gatedOver(t, f.TracerProvider)
	unsampled := gatedOver(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	for kind, above := range contexts(t, f, newFixture(t, on), outer, unsampled) {
		for opts := range optionLists() {
			for _, p := range []*otelgate.TracerProvider{f.TracerProvider, f.Transparent()} {
				tracer := p.Group(off).Tracer("t")
				f.gate.SetReach(0)
				unarmedCtx, unarmed := tracer.Start(above.ctx, "off", opts...)
				f.gate.SetReach(off)
				armedCtx, armed := tracer.Start(above.ctx, "off", opts...)
				if trace.SpanContextFromContext(unarmedCtx).HasTraceID() { // else the context records that choose was called
					assert.Equal(t, above.ctx == unarmedCtx, above.ctx == armedCtx, kind)
				}
				assert.Equal(t, trace.SpanFromContext(unarmedCtx).SpanContext(), trace.SpanFromContext(armedCtx).SpanContext(), kind)
				checkInert(t, f, armed, unarmed.SpanContext())
			}
		}
	}
	f.gate.SetReach(0)
}

// chosen is a function for otelgate.Overrides that returns the override of its field.
type chosen struct {
	mu       sync.Mutex
	override *spangate.Override
	asked    []trace.SpanContext
}

func (c *chosen) choose(_ context.Context, sc trace.SpanContext) *spangate.Override {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, sc)
	return c.override
}

// take returns what was asked since the last call.
func (c *chosen) take() []trace.SpanContext {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.asked = nil }()
	return c.asked
}

func TestOverrideIsChosenOnceForATraceByItsID(t *testing.T) {
	c := new(chosen)
	f := newFixture(t, 0, otelgate.Overrides(c.choose), otelgate.RemoteShares())
	aboveCtx, above := f.Tracer("no rule").Start(t.Context(), "above")
	defer above.End()
	groups := []spangate.Mask{1, 2, 4}
	for form := range siteForms {
		for enabled := range spangate.Mask(8) {
			for _, overridden := range []spangate.Mask{0, 1, 2, 7} {
				for name, ctx := range map[string]context.Context{
					"nothing above":         t.Context(),
					"an invalid span above": trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContext{}),
					"a trace ID above":      trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}.WithTraceID(trace.TraceID{9})),
					"a remote span above":   trace.ContextWithRemoteSpanContext(t.Context(), remote(t)),
					"a local span above":    aboveCtx,
				} {
					f.exported.Reset()
					f.gate.Store(enabled)
					f.gate.SetReach(7)
					c.override = overrideOf("o", overridden)
					nest(form, ctx, f.TracerProvider, groups, func(ctx context.Context) {
						assert.Equal(t, name != "a local span above", c.override == spangate.OverrideFromContext(ctx), "what is beneath sees it too")
					})
					asked := c.take()
					if name == "a local span above" {
						assert.Empty(t, asked)
						assert.Equal(t, enabled.Count(), len(f.spans()))
						continue
					}
					require.Len(t, asked, 1, "%s, %s, %v", form, name, enabled)
					if id := trace.SpanContextFromContext(ctx).TraceID(); id.IsValid() {
						assert.Equal(t, id, asked[0].TraceID())
					} else {
						assert.True(t, asked[0].TraceFlags()&2 != 0, "drawn at random")
					}
					assert.Equal(t, name == "a remote span above", asked[0].SpanID().IsValid())
					spans := f.spans()
					assert.Len(t, spans, (enabled | overridden).Count())
					for _, s := range spans {
						assert.Equal(t, asked[0].TraceID(), s.SpanContext.TraceID(), "%s, %s, %v: the trace has the ID that was asked about", form, name, enabled)
					}

					// Unarmed, nothing is asked.
					f.gate.SetReach(0)
					nest(form, ctx, f.TracerProvider, groups, func(context.Context) {})
					assert.Empty(t, c.take())
				}
			}
		}
	}
}

type countingIDs struct{ made byte }

func (c *countingIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c.made++
	return trace.TraceID{0: 0xaa, 15: c.made}, c.NewSpanID(ctx, trace.TraceID{})
}

func (c *countingIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	c.made++
	return trace.SpanID{7: c.made}
}

// The question needs an ID, but a trace that is not chosen is as it would be without one.
func TestTraceThatIsNotChosenHasTheIDOfTheGenerator(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	gate, c := spangate.NewGate(1), new(chosen)
	p, err := otelgate.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported), sdktrace.WithIDGenerator(new(countingIDs))), gate, otelgate.Overrides(c.choose))
	require.NoError(t, err)
	tracerOf := func(g spangate.Mask) trace.Tracer { return p.Group(g).Tracer("t") }
	tracerOf(1)
	gate.SetReach(2)
	aboveCtx, above := tracerOf(1).Start(t.Context(), "above")
	defer above.End()
	for _, opts := range [][]trace.SpanStartOption{nil, {trace.WithNewRoot()}} {
		for _, ctx := range []context.Context{t.Context(), aboveCtx} {
			exported.Reset()
			c.take()
			ctx, s := tracerOf(1).Start(ctx, "root", opts...)
			_, below := tracerOf(2).Start(ctx, "below")
			below.End()
			s.End()
			require.Len(t, exported.GetSpans(), 1)
			assert.EqualValues(t, 0xaa, s.SpanContext().TraceID()[0])
			if len(opts) > 0 {
				require.Len(t, c.take(), 1)
				assert.NotEqual(t, above.SpanContext().TraceID(), s.SpanContext().TraceID())
			}
		}
	}
	ctx, _ := tracerOf(4).Start(t.Context(), "off")
	assert.False(t, trace.SpanContextFromContext(ctx).HasTraceID())
}

// A client that chooses its trace ID must not choose whether it gets an override.
func TestTraceOfAnotherProcessIsAskedAboutWithRemoteSharesOnly(t *testing.T) {
	for _, opts := range [][]otelgate.Option{nil, {otelgate.RemoteShares()}} {
		for form := range siteForms {
			c := &chosen{override: overrideOf("o", 7)}
			f := newFixture(t, 1, append(opts, otelgate.Overrides(c.choose))...)
			f.tracerOf(7)
			f.gate.SetReach(7)
			ctx := trace.ContextWithRemoteSpanContext(t.Context(), remote(t))
			nest(form, ctx, f.TracerProvider, []spangate.Mask{2, 1, 4}, func(context.Context) {})
			require.Len(t, c.take(), len(opts), form)
			require.Len(t, f.exported.GetSpans(), 1+2*len(opts), form)
			_, s := f.tracerOf(2).Start(ctx, "public", trace.WithNewRoot())
			s.End()
			asked := c.take()
			require.Len(t, asked, 1, "a trace that begins here")
			assert.NotEqual(t, remote(t).TraceID(), asked[0].TraceID())
		}
	}
}

// With RemoteShares other processes decide by the ID of the trace, which must be the one that was asked about.
func TestTraceWithRemoteSharesHasTheIDThatWasAskedAbout(t *testing.T) {
	c := new(chosen)
	for form := range siteForms {
		for enabled := range spangate.Mask(8) {
			f := newFixture(t, enabled, otelgate.Overrides(c.choose), otelgate.RemoteShares())
			f.tracerOf(7)
			f.gate.SetReach(7)
			siteForms[form](t.Context(), f.TracerProvider, 1, "1", func(ctx context.Context, _ trace.Span) {
				nest(form, ctx, f.TracerProvider, []spangate.Mask{2, 4}, func(context.Context) {})
				nest(form, ctx, f.TracerProvider, []spangate.Mask{4}, func(context.Context) {})
			})
			asked := c.take()
			require.Len(t, asked, 1, "%s, %v", form, enabled)
			for _, s := range f.exported.GetSpans() {
				require.Equal(t, asked[0].TraceID(), s.SpanContext.TraceID(), "%s, %v", form, enabled)
			}
		}
	}
}

// A draw for each root beneath a site that is off would give many more requests than the share an override.
func TestRootsBeneathASiteThatIsOffAreNotAskedAboutAgain(t *testing.T) {
	for form := range siteForms {
		for enabled := range spangate.Mask(8) {
			c := new(chosen)
			f := newFixture(t, enabled, otelgate.Overrides(c.choose))
			f.tracerOf(7)
			f.gate.SetReach(7)
			siteForms[form](t.Context(), f.TracerProvider, 1, "1", func(ctx context.Context, _ trace.Span) {
				c.override = overrideOf("late", 7)
				for range 3 {
					nest(form, ctx, f.TracerProvider, []spangate.Mask{2, 4}, func(context.Context) {})
				}
				require.Len(t, c.take(), 1, "%s, %v", form, enabled)
				_, s := f.tracerOf(2).Start(ctx, "new root", trace.WithNewRoot())
				s.End()
				require.Len(t, c.take(), 1, "another trace is asked about: %s, %v", form, enabled)
			})
			siteForms[form](t.Context(), f.TracerProvider, 1, "1", func(context.Context, trace.Span) {})
			require.Len(t, c.take(), 1, "the next request")
		}
	}
}

// Such a span is a parent, although no trace ID says so.
func TestSpanWithoutASpanContextIsNoRoot(t *testing.T) {
	c := new(chosen)
	f := newFixture(t, on, otelgate.Overrides(c.choose))
	f.gate.SetReach(on)
	var parent trace.Span
	p, err := otelgate.NewTracerProvider(baseOf{tracer: funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) {
		parent = trace.SpanFromContext(ctx)
		return ctx, new(plainSpan)
	}}}, f.gate, otelgate.Overrides(c.choose))
	require.NoError(t, err)
	above := new(plainSpan)
	p.Group(on).Tracer("t").Start(trace.ContextWithSpan(t.Context(), above), "s")
	assert.Same(t, above, parent)
	assert.Empty(t, c.take())
}

func TestRootThatStaysOffInAChosenTraceIsReportedAndCounted(t *testing.T) {
	c := &chosen{override: overrideOf("o", on)}
	f := newFixture(t, 0, otelgate.Overrides(c.choose), otelgate.CountWithheld())
	f.tracerOf(off)
	f.gate.SetReach(on)
	ctx, s := f.tracerOf(off).Start(t.Context(), "off")
	checkInert(t, f, s, c.asked[0])
	_, s = f.tracerOf(off).Start(ctx, "off too")
	checkInert(t, f, s, c.asked[0])
	assert.Equal(t, off, f.Roots(f.gate))
	for scope := range f.Scopes() {
		assert.EqualValues(t, 2, scope.Withheld)
	}
}

// Another gate of the provider has a reach, not that of the root.
func TestRootOfAGateWithoutReachIsAskedToo(t *testing.T) {
	c := &chosen{override: overrideOf("o", 1)}
	lib := new(spangate.Gate)
	f := newFixture(t, on, otelgate.Rule{Scope: "lib", Gate: lib, Group: 1}, otelgate.Overrides(c.choose))
	f.Tracer("lib")
	lib.SetReach(1)
	for name, tracer := range map[string]trace.Tracer{"on": f.tracerOf(on), "off": f.tracerOf(off), "no group": f.Tracer("no rule")} {
		f.exported.Reset()
		ctx, s := tracer.Start(t.Context(), "root")
		_, below := f.Tracer("lib").Start(ctx, "below")
		below.End()
		s.End()
		asked := c.take()
		require.Len(t, asked, 1, name)
		assert.Equal(t, asked[0].TraceID(), f.spans()["below"].SpanContext.TraceID(), name)
	}
}

func TestNewRootLeavesTheOverrideOfTheTraceAbove(t *testing.T) {
	for _, form := range []struct {
		name string
		opts []otelgate.Option
		c    *chosen
	}{{name: "given"}, {name: "chosen", c: new(chosen)}} {
		if form.c != nil {
			form.opts = []otelgate.Option{otelgate.Overrides(form.c.choose)}
		}
		f := newFixture(t, 1, form.opts...)
		f.gate.SetReach(7)
		ctx := spangate.ContextWithOverride(t.Context(), overrideOf("above", 7))
		ctx, above := f.tracerOf(1).Start(ctx, "above")
		for _, g := range []spangate.Mask{1, 2} { // on, and off
			f.exported.Reset()
			inner, s := f.tracerOf(g).Start(ctx, "new root", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer),
				trace.WithAttributes(attribute.Int("a", 1)), trace.WithTimestamp(time.Unix(1, 0)), trace.WithLinks(trace.LinkFromContext(ctx)))
			assert.Nil(t, spangate.OverrideFromContext(inner))
			_, below := f.tracerOf(4).Start(inner, "below")
			assert.False(t, below.IsRecording())
			s.End()
			if g == 1 {
				stub := f.spans()["new root"]
				assert.NotEqual(t, above.SpanContext().TraceID(), stub.SpanContext.TraceID())
				assert.False(t, stub.Parent.IsValid())
				assert.Equal(t, trace.SpanKindConsumer, stub.SpanKind)
				assert.Equal(t, []attribute.KeyValue{attribute.Int("a", 1)}, stub.Attributes)
				assert.Equal(t, time.Unix(1, 0), stub.StartTime)
				assert.Len(t, stub.Links, 1)
			}
			if form.c == nil {
				continue
			}
			require.Len(t, form.c.take(), 1, "for the new root, and not again beneath it")
			form.c.override = overrideOf("below", 7)
			f.exported.Reset()
			inner, s = f.tracerOf(g).Start(ctx, "new root", trace.WithNewRoot())
			assert.Same(t, form.c.override, spangate.OverrideFromContext(inner))
			_, below = f.tracerOf(4).Start(inner, "below")
			below.End()
			s.End()
			form.c.override = nil
			id := form.c.take()[0].TraceID()
			for _, stub := range f.exported.GetSpans() {
				assert.Equal(t, id, stub.SpanContext.TraceID())
			}
			require.Len(t, f.exported.GetSpans(), 2)
			assert.Equal(t, "below", attributeOf(f.spans()["new root"], otelgate.OverrideKey))
		}
		above.End()
	}
}

// The override can't turn the new root on, but the spans beneath it.
func TestNewRootOutOfReachLeavesTheOverrideOfTheTraceAbove(t *testing.T) {
	for _, opts := range [][]otelgate.Option{nil, {otelgate.OneTrace()}} {
		f := newFixture(t, 1, opts...)
		f.tracerOf(7)
		f.gate.SetReach(4)
		none := spangate.ContextWithOverride(t.Context(), overrideOf("above", 4))
		local, above := f.tracerOf(1).Start(none, "above")
		remoteCtx := trace.ContextWithRemoteSpanContext(none, remote(t))
		for name, ctx := range map[string]context.Context{"nothing": none, "a span": local, "a remote span": remoteCtx} {
			for _, p := range []*otelgate.TracerProvider{f.Group(2), f.Group(2).Transparent()} {
				inner, _ := p.Tracer("t").Start(ctx, "new root", trace.WithNewRoot())
				assert.Nil(t, spangate.OverrideFromContext(inner), name)
				_, below := f.tracerOf(4).Start(inner, "below")
				assert.False(t, below.IsRecording(), name)
			}
		}
		above.End()
	}
}

// Without the attribute, a reader of the trace can't tell a span that is missing from one that was off.
func TestFirstSpanOfAProcessNamesTheOverride(t *testing.T) {
	groups := []spangate.Mask{1, 2, 4}
	for name, ctx := range map[string]context.Context{
		"nothing above":       t.Context(),
		"a remote span above": trace.ContextWithRemoteSpanContext(t.Context(), remote(t)),
	} {
		for form := range siteForms {
			for enabled := range spangate.Mask(8) {
				for overridden := range spangate.Mask(8) {
					c := &chosen{override: overrideOf("chosen", overridden)}
					f := newFixture(t, enabled, otelgate.Overrides(c.choose), otelgate.RemoteShares())
					f.Group(1).Tracer("t")
					f.gate.SetReach(7)
					for id, ctx := range map[string]context.Context{"chosen": ctx, "given": spangate.ContextWithOverride(ctx, overrideOf("given", overridden))} {
						f.exported.Reset()
						nest(form, ctx, f.TracerProvider, groups, func(context.Context) {})
						first := true
						for g := range (enabled | overridden).Bits() {
							want := ""
							if first {
								want = id
							}
							assert.Equal(t, want, attributeOf(f.spans()[g.String()], otelgate.OverrideKey), "%s, %s: on %v, override %v: span %v", name, form, enabled, overridden, g)
							first = false
						}
					}
				}
			}
		}
	}
}

// A program may learn only in its handler, beneath the server's span, that a request is to have detail.
func TestOverrideThatBeginsBeneathASpanIsNamedByTheFirstSpanThatItTurnsOn(t *testing.T) {
	f := newFixture(t, on)
	f.gate.SetReach(off)
	ctx, s := f.tracerOf(on).Start(t.Context(), "server")
	ctx = spangate.ContextWithOverride(ctx, overrideOf("o", off))
	ctx, second := f.tracerOf(off).Start(ctx, "second")
	_, third := f.tracerOf(off).Start(ctx, "third")
	for _, s := range []trace.Span{third, second, s} {
		s.End()
	}
	spans := f.spans()
	require.Len(t, spans, 3)
	assert.Equal(t, "", attributeOf(spans["server"], otelgate.OverrideKey))
	assert.Equal(t, "o", attributeOf(spans["second"], otelgate.OverrideKey))
	assert.Equal(t, "", attributeOf(spans["third"], otelgate.OverrideKey))
}

func TestOverrideIsAskedOncePerSpanThatItMayTurnOn(t *testing.T) {
	f := newFixture(t, 1)
	f.gate.SetReach(2)
	asked := 0
	ctx := spangate.ContextWithOverride(t.Context(), spangate.NewOverride(spangate.OverrideName{}, func(*spangate.Gate, spangate.Mask) bool {
		asked++
		return true
	}))
	enabled := f.tracerOf(2).(interface{ Enabled(context.Context) bool }).Enabled
	assert.True(t, enabled(ctx))
	assert.False(t, enabled(t.Context()))
	assert.False(t, f.tracerOf(4).(interface{ Enabled(context.Context) bool }).Enabled(ctx))
	assert.Zero(t, asked, "Enabled starts no span")
	for form := range siteForms {
		asked = 0
		nest(form, ctx, f.TracerProvider, []spangate.Mask{1, 2, 4, 1, 2}, func(context.Context) {})
		assert.Equal(t, 2, asked, form)
	}
}

func TestEnabledIsTrueWhereAnOverrideMayBeChosen(t *testing.T) {
	f := newFixture(t, on, otelgate.Overrides(new(chosen).choose), otelgate.RemoteShares())
	enabled := f.tracerOf(off).(interface{ Enabled(context.Context) bool }).Enabled
	gated, s := f.tracerOf(on).Start(t.Context(), "s")
	defer s.End()
	var none context.Context
	assert.False(t, enabled(t.Context()))
	f.gate.SetReach(off)
	assert.True(t, enabled(t.Context()))
	assert.True(t, enabled(none))
	assert.True(t, enabled(trace.ContextWithRemoteSpanContext(t.Context(), remote(t))))
	assert.False(t, enabled(gated))
}

// The propagators are the plain ones: that the servers choose the same override is due to the trace ID.
func TestChosenTraceIsWholeAcrossOtelhttpUnderEveryMask(t *testing.T) {
	spine := spangate.CrossProcessSpine
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			var ids []trace.TraceID
			var mu sync.Mutex
			pick := false
			f := newFleet(t, m, otelgate.Overrides(func(_ context.Context, sc trace.SpanContext) *spangate.Override {
				mu.Lock()
				defer mu.Unlock()
				if pick && !sc.SpanID().IsValid() {
					ids = append(ids, sc.TraceID())
				}
				if !slices.Contains(ids, sc.TraceID()) {
					return nil
				}
				return overrideOf("o", spine)
			}), otelgate.RemoteShares())
			f.tracerOf(spine)
			f.gate.SetReach(spine)
			for _, mask := range spineMasks() {
				for _, pick = range []bool{true, false} {
					f.exported.Reset()
					f.gate.Store(mask)
					inside, rollout := f.tracerOf(spangate.BitRollout).Start(t.Context(), "rollout")
					f.get(t, inside, f.agent)
					rollout.End()
					on := mask
					if pick {
						on = spine
					}
					// Without a span above, the client finds no provider through one.
					if on.HasAny(spangate.BitRollout) || on.HasAny(spangate.BitHTTPClient) && m.name != "found through the span" {
						checkChain(t, f.spans(), names(on)[1:])
					}
				}
			}
		})
	}
}

// While reach and gate change, every span has an exported parent or none, in its own trace.
func TestChangingReachSplitsNoTrace(t *testing.T) {
	groups := []spangate.Mask{1, 2, 4, 8}
	override := overrideOf("o", 15)
	f := newFixture(t, 0, otelgate.OneTrace(), otelgate.Overrides(func(_ context.Context, sc trace.SpanContext) *spangate.Override {
		if id := sc.TraceID(); id[15]&1 == 0 {
			return nil
		}
		return override
	}))
	done := make(chan struct{})
	var changer, workers sync.WaitGroup
	var traces sync.Map // of the innermost context of each nest
	changer.Go(func() {
		for m := spangate.Mask(0); ; m++ {
			select {
			case <-done:
				return
			default:
				f.gate.SetReach(m % 16)
				f.gate.Store(m / 16 % 16)
			}
		}
	})
	for range 4 {
		workers.Go(func() {
			for i := range 200 {
				form := []string{"Start", "options", "transparent", "Do"}[i%4]
				nest(form, t.Context(), f.TracerProvider, groups, func(ctx context.Context) {
					traces.Store(trace.SpanContextFromContext(ctx).TraceID(), true)
				})
			}
		})
	}
	workers.Wait()
	close(done)
	changer.Wait()

	traceOf := map[trace.SpanID]trace.TraceID{{}: {}}
	for _, s := range f.exported.GetSpans() {
		traceOf[s.SpanContext.SpanID()] = s.SpanContext.TraceID()
	}
	for _, s := range f.exported.GetSpans() {
		_, known := traces.Load(s.SpanContext.TraceID())
		require.True(t, known, "a span is in another trace than what is beneath it")
		above, ok := traceOf[s.Parent.SpanID()]
		require.True(t, ok && (!s.Parent.SpanID().IsValid() || above == s.SpanContext.TraceID()), "the parent is missing or elsewhere")
	}
	f.gate.SetReach(0)
}

func TestOverridesWithoutAFunctionIsAnInvalidOption(t *testing.T) {
	_, err := otelgate.NewTracerProvider(newFixture(t, 0).sdk, new(spangate.Gate), otelgate.Overrides(nil))
	assert.ErrorIs(t, err, otelgate.ErrInvalidOption)
	assert.ErrorContains(t, err, "Overrides was given a nil function")
}
