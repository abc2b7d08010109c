// SPDX-License-Identifier: Apache-2.0

package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// started reports whether a tracer starts spans of this kind.
func started(tracer trace.Tracer, opts ...trace.SpanStartOption) bool {
	_, s := tracer.Start(context.Background(), "s", opts...)
	defer s.End()
	return s.IsRecording()
}

func TestFirstRuleThatMatchesDecides(t *testing.T) {
	const a, b, c, d = spangate.Mask(1), spangate.Mask(2), spangate.Mask(4), spangate.Mask(8)
	f := newFixture(t, 0,
		otelgate.Rule{Scope: "lib/http", Kind: trace.SpanKindServer, Group: a},
		otelgate.Rule{Scope: "lib/http", Kind: trace.SpanKindServer, Group: d}, // never reached
		otelgate.Rule{Scope: "lib/*", Group: b},
		otelgate.Rule{Kind: trace.SpanKindInternal, Group: c},
	)
	for _, tt := range []struct {
		scope string
		kind  trace.SpanKind
		group spangate.Mask // that decides; 0: none does
	}{
		{"lib/http", trace.SpanKindServer, a},
		{"lib/http", trace.SpanKindClient, b},
		{"lib/http", trace.SpanKindUnspecified, b},
		{"lib/", trace.SpanKindServer, b},
		{"lib/db", trace.SpanKindServer, b},
		{"lib", trace.SpanKindServer, 0},
		{"my/lib/http", trace.SpanKindServer, 0},
		{"lib", trace.SpanKindInternal, c},
		{"lib", trace.SpanKindUnspecified, c}, // a span without a kind is internal
		{"lib", trace.SpanKind(42), c},        // so is one of no known kind
		{"", trace.SpanKindInternal, c},
		{"", trace.SpanKindProducer, 0},
		{"", trace.SpanKindConsumer, 0},
	} {
		tracer := f.Tracer(tt.scope)
		var opts []trace.SpanStartOption
		if tt.kind != trace.SpanKindUnspecified {
			opts = append(opts, trace.WithSpanKind(tt.kind))
		}
		for m := range spangate.Mask(16) {
			f.gate.Store(m)
			assert.Equal(t, tt.group == 0 || m.HasAny(tt.group), started(tracer, opts...), "%+v under %v", tt, m)
		}
	}
}

func TestEveryKindHasItsOwnRule(t *testing.T) {
	other := spangate.NewGate(0)
	for kind := trace.SpanKindInternal; kind <= trace.SpanKindConsumer; kind++ {
		f := newFixture(t, 1,
			otelgate.Rule{Kind: kind, Gate: other, Group: 1},
			otelgate.Rule{Scope: "lib", Group: 2},
			otelgate.Rule{Scope: "same", Group: 1}) // as the first, of the provider's gate
		for spanKind := trace.SpanKindInternal; spanKind <= trace.SpanKindConsumer; spanKind++ {
			opt := trace.WithSpanKind(spanKind)
			for _, scope := range []string{"free", "same"} {
				assert.Equal(t, spanKind != kind, started(f.Tracer(scope), opt), "%s: %v, the rule is for %v", scope, spanKind, kind)
			}
			assert.False(t, started(f.Tracer("lib"), opt), "%v, the rule is for %v", spanKind, kind)
		}
	}
}

func TestRuleMatchesTheSpanName(t *testing.T) {
	const a, b, c, d = spangate.Mask(1), spangate.Mask(2), spangate.Mask(4), spangate.Mask(8)
	f := newFixture(t, 0,
		otelgate.Rule{Name: "promqlInnerEval*", Group: a},
		otelgate.Rules{
			{Scope: "lib", Name: "exact", Kind: trace.SpanKindClient, Group: b},
			{Scope: "lib", Name: "exact", Group: c},
		},
		nil, // a nil option does nothing
		otelgate.Rule{Scope: "lib", Kind: trace.SpanKindServer, Group: d})
	for _, tt := range []struct {
		scope, name string
		kind        trace.SpanKind
		group       spangate.Mask // that decides; 0: none does
	}{
		{"lib", "promqlInnerEval", trace.SpanKindServer, a},
		{"", "promqlInnerEvalRange", trace.SpanKindInternal, a},
		{"lib", "promqlEval", trace.SpanKindInternal, 0},
		{"lib", "exact", trace.SpanKindClient, b},
		{"lib", "exact", trace.SpanKindServer, c},
		{"other", "exact", trace.SpanKindClient, 0},
		{"lib", "exactly", trace.SpanKindServer, d},
		{"lib", "", trace.SpanKindServer, d},
		{"lib", "", trace.SpanKindClient, 0},
	} {
		for m := range spangate.Mask(16) {
			f.gate.Store(m)
			_, s := f.Tracer(tt.scope).Start(t.Context(), tt.name, trace.WithSpanKind(tt.kind), trace.WithAttributes(attribute.Int("a", 1)))
			assert.Equal(t, tt.group == 0 || m.HasAny(tt.group), s.IsRecording(), "%+v under %v", tt, m)
			s.End()
		}
	}
}

func TestStarAloneMatchesAnyScopeAndName(t *testing.T) {
	for _, r := range []otelgate.Rule{{Scope: "*", Group: off}, {Name: "*", Group: off}} {
		f := newFixture(t, on, r)
		for _, scope := range []string{"", "*", "lib"} {
			assert.False(t, started(f.Tracer(scope)), "%q", scope)
		}
	}
}

// As in the SDK.
func TestLastKindOfTheOptionsDecides(t *testing.T) {
	f := newFixture(t, 1, otelgate.Rule{Kind: trace.SpanKindServer, Group: 2})
	assert.True(t, started(f.Tracer("lib"), trace.WithSpanKind(trace.SpanKindServer), trace.WithSpanKind(trace.SpanKindClient)))
	assert.False(t, started(f.Tracer("lib"), trace.WithSpanKind(trace.SpanKindClient), trace.WithSpanKind(trace.SpanKindServer)))
	assert.True(t, started(f.Tracer("lib"), trace.WithSpanKind(trace.SpanKindServer), trace.WithSpanKind(trace.SpanKindUnspecified)))
	assert.False(t, started(f.Tracer("lib"), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(), trace.WithTimestamp(time.Now())))
}

func TestEmptyScopeHasTheSDKsName(t *testing.T) {
	f := newFixture(t, 0, otelgate.Rule{Scope: otelgate.EmptyScope, Group: 1})
	assert.False(t, started(f.Tracer("")))
	assert.True(t, started(f.Tracer("lib")), "the rule is for the empty scope alone")
	assert.Same(t, f.Tracer(""), f.Tracer(otelgate.EmptyScope))
	f.gate.Store(1)
	_, s := f.Tracer("").Start(t.Context(), "s")
	s.End()
	assert.Equal(t, otelgate.EmptyScope, f.spans()["s"].Snapshot().InstrumentationScope().Name)
	assert.Equal(t, "go.opentelemetry.io/otel/sdk/tracer", otelgate.EmptyScope)
}

// The groups are the caller's: a catalog without Gym's bits could never turn Gym's groups on.
func TestHTTPRulesUseTheCallersGroups(t *testing.T) {
	const in, out = spangate.Mask(1 << 3), spangate.Mask(1 << 40)
	f := newFixture(t, 0, otelgate.HTTPRules(in, out))
	http := f.Tracer("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
	for m, want := range map[spangate.Mask][3]bool{0: {false, false, true}, in: {true, false, true}, out: {false, true, true}} {
		f.gate.Store(m)
		assert.Equal(t, want, [3]bool{
			started(http, trace.WithSpanKind(trace.SpanKindServer)),
			started(http, trace.WithSpanKind(trace.SpanKindClient)),
			started(http),
		}, "%v", m)
	}
}

func TestNamesRefusesABitWithoutAName(t *testing.T) {
	catalog := spangate.MustCatalog("mine", []spangate.Group{{Name: "web", Bit: 1}, {Name: "sql", Bit: 2}}, nil)
	sdk, gate, other := sdktrace.NewTracerProvider(), new(spangate.Gate), new(spangate.Gate)
	for _, r := range []otelgate.Option{
		otelgate.HTTPRules(spangate.BitServer, 1),
		otelgate.Rule{Group: 1 | 4},
		otelgate.Rule{Gate: gate, Group: 4},
	} {
		for _, opts := range [][]otelgate.Option{{otelgate.Names(catalog), r}, {r, otelgate.Names(catalog)}} {
			p, err := otelgate.NewTracerProvider(sdk, gate, opts...)
			assert.Nil(t, p)
			require.ErrorIs(t, err, otelgate.ErrInvalidRule)
			assert.ErrorContains(t, err, "no name in the catalog mine")
			assert.ErrorContains(t, err, "web,sql")
		}
	}
	_, err := otelgate.NewTracerProvider(sdk, gate, otelgate.Names(catalog), otelgate.HTTPRules(1, 2),
		otelgate.Rule{Gate: other, Group: 4}) // names of another gate are another catalog's
	assert.NoError(t, err)
	_, err = otelgate.NewTracerProvider(sdk, gate, otelgate.Names(catalog), otelgate.Rule{Scope: "a*b", Group: 4})
	assert.ErrorContains(t, err, "has a '*'", "errors of the rule itself come first")
	_, err = otelgate.NewTracerProvider(sdk, gate, otelgate.Names(nil))
	assert.ErrorIs(t, err, otelgate.ErrInvalidOption)
}

func TestEnabledIsFalseIfEverySpanWouldBeInert(t *testing.T) {
	f := newFixture(t, 0,
		otelgate.Rule{Scope: "kinds", Kind: trace.SpanKindServer, Group: 1},
		otelgate.Rule{Scope: "names", Name: "a*", Group: 1},
		otelgate.Rule{Scope: "names", Name: "b", Group: 4},
		otelgate.Rule{Scope: "kinds", Group: 2},
		otelgate.Rule{Scope: "kinds", Group: 8}, // never reached
		otelgate.Rule{Scope: "names", Group: 2})
	enabled := func(tracer trace.Tracer) bool {
		return tracer.(interface{ Enabled(context.Context) bool }).Enabled(t.Context())
	}
	for m, want := range map[spangate.Mask][4]bool{
		0: {false, false, false, true}, 1: {true, true, true, true}, 2: {true, true, false, true}, 4: {false, true, false, true},
		8: {false, false, false, true},
	} {
		f.gate.Store(m)
		assert.Equal(t, want, [4]bool{
			enabled(f.Tracer("kinds")), enabled(f.Tracer("names")), enabled(f.Group(1).Tracer("x")), enabled(f.Tracer("no rule")),
		}, "%v", m)
	}
	// If the base has Enabled, both must be true.
	inner := newFixture(t, 0)
	outer, err := otelgate.NewTracerProvider(inner.Group(1), new(spangate.Gate))
	require.NoError(t, err)
	assert.False(t, enabled(outer.Tracer("x")))
	inner.gate.Store(1)
	assert.True(t, enabled(outer.Tracer("x")))
}

func TestRootsAreTheGroupsThatWereOffUnderNoSpan(t *testing.T) {
	const server, middleware, job, never, step = spangate.Mask(1), spangate.Mask(2), spangate.Mask(4), spangate.Mask(8), spangate.Mask(16)
	other := spangate.NewGate(0)
	f := newFixture(t, 0,
		otelgate.Rule{Scope: "server", Group: server}, otelgate.Rule{Scope: "other", Gate: other, Group: 1})
	roots := func() [2]spangate.Mask { return [2]spangate.Mask{f.Roots(f.gate), f.Roots(other)} }
	assert.Equal(t, [2]spangate.Mask{}, roots())

	ctx, top := f.Tracer("no rule").Start(t.Context(), "top")
	for _, parent := range []context.Context{ctx, trace.ContextWithRemoteSpanContext(t.Context(), remote(t))} {
		f.Tracer("server").Start(parent, "s")
		f.Tracer("other").Start(parent, "s")
	}
	top.End()
	assert.Equal(t, [2]spangate.Mask{}, roots(), "a span was above")

	f.Tracer("server").Start(t.Context(), "s")
	assert.Equal(t, [2]spangate.Mask{server}, roots())
	f.Group(job).Tracer("x").Start(trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContext{}), "s")
	assert.Equal(t, [2]spangate.Mask{server | job}, roots(), "an invalid span context counts as no span")
	f.Tracer("other").Start(ctx, "s", trace.WithNewRoot())
	assert.Equal(t, [2]spangate.Mask{server | job, 1}, roots(), "a new root begins a trace")
	f.gate.Store(middleware)
	assert.True(t, started(f.Group(middleware).Tracer("x")))
	assert.Equal(t, [2]spangate.Mask{server | job, 1}, roots(), "a group that is on is not recorded")
	f.Group(job|step).Tracer("x").Start(t.Context(), "s")
	assert.Equal(t, [2]spangate.Mask{server | job | step, 1}, roots(), "each of several groups, though one was recorded")
	assert.Zero(t, f.Roots(spangate.NewGate(never)))
	assert.Zero(t, f.Roots(nil))
	assert.Zero(t, new(otelgate.TracerProvider).Roots(f.gate))
	assert.Zero(t, (*otelgate.TracerProvider)(nil).Roots(f.gate))
}

func TestScopeWithoutARulePassesThrough(t *testing.T) {
	f := newFixture(t, 0, otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient))
	assert.True(t, started(f.Tracer("mine")))
}

func TestRuleWithAGateFollowsThatGate(t *testing.T) {
	other := spangate.NewGate(0)
	f := newFixture(t, 0,
		otelgate.Rule{Scope: "theirs", Gate: other, Group: 1},
		otelgate.Rule{Scope: "ours", Group: 1})
	theirs, ours := f.Tracer("theirs"), f.Tracer("ours")
	assert.Equal(t, []bool{false, false}, []bool{started(theirs), started(ours)})
	other.Store(1)
	assert.Equal(t, []bool{true, false}, []bool{started(theirs), started(ours)})
	other.Store(0)
	f.gate.Store(1)
	assert.Equal(t, []bool{false, true}, []bool{started(theirs), started(ours)})
}

func TestViewsChangeTheGroupOrTheGate(t *testing.T) {
	other := spangate.NewGate(0)
	f := newFixture(t, 1, otelgate.Rule{Scope: "ruled", Group: 2})

	assert.True(t, started(f.Group(1).Tracer("ruled")), "a view's group goes before the rules")
	assert.False(t, started(f.Group(2).Tracer("anything")))
	assert.False(t, started(f.Group(0).Tracer("anything")), "an empty group is never on")

	for _, view := range []*otelgate.TracerProvider{f.WithGate(other).Group(1), f.Group(1).WithGate(other)} {
		tracer := view.Tracer("anything")
		other.Store(0)
		assert.False(t, started(tracer))
		other.Store(1)
		assert.True(t, started(tracer))
	}
	other.Store(2)
	assert.True(t, started(f.WithGate(other).Tracer("ruled")), "a rule without a gate follows the view's")
	for _, view := range []*otelgate.TracerProvider{f.WithGate(nil).Group(1), f.Group(1).WithGate(nil)} {
		assert.True(t, started(view.Tracer("x")), "a nil gate changes nothing")
	}
	for _, view := range []*otelgate.TracerProvider{f.WithGate(nil).Group(2), f.Group(2).WithGate(nil)} {
		assert.False(t, started(view.Tracer("x")), "a nil gate changes nothing")
	}

	// The provider of a view's span is not the view.
	ctx, s := f.Group(1).Tracer("x").Start(t.Context(), "s")
	defer s.End()
	assert.Same(t, f.TracerProvider, trace.SpanFromContext(ctx).TracerProvider())
}

func TestTracersOfDifferentScopesAreDistinct(t *testing.T) {
	f := newFixture(t, on)
	for name, opt := range map[string]trace.TracerOption{
		"version":    trace.WithInstrumentationVersion("v2"),
		"schema":     trace.WithSchemaURL("https://opentelemetry.io/schemas/1.30.0"),
		"attributes": trace.WithInstrumentationAttributes(attribute.Bool("two", true)),
	} {
		f.exported.Reset()
		view := f.Group(on)
		_, s := view.Tracer("lib").Start(t.Context(), "plain")
		s.End()
		for span, p := range map[string]trace.TracerProvider{"gated": view, "bare": f.sdk} {
			_, s := p.Tracer("lib", opt).Start(t.Context(), span)
			s.End()
		}
		// An SDK older than 1.32 knows no attributes of a scope.
		assert.Equal(t, f.spans()["bare"].Snapshot().InstrumentationScope(), f.spans()["gated"].Snapshot().InstrumentationScope(), name)
	}
}

func TestEmptyTracerOptionsMakeNoSecondTracer(t *testing.T) {
	f := newFixture(t, on)
	for name, opt := range map[string]trace.TracerOption{
		"version":    trace.WithInstrumentationVersion(""),
		"schema":     trace.WithSchemaURL(""),
		"attributes": trace.WithInstrumentationAttributes(),
	} {
		assert.Same(t, f.Tracer("lib"), f.Tracer("lib", opt), name)
	}
}

func TestTracerIsTheSameForEveryGoroutine(t *testing.T) {
	f := newFixture(t, on, otelgate.Rule{Scope: "ruled", Group: on})
	tracers := make([]trace.Tracer, 32)
	var group sync.WaitGroup
	for i := range tracers {
		group.Go(func() {
			tracers[i] = f.Tracer("ruled")
			view := f.Group(spangate.Mask(1) << i).WithGate(f.gate).Transparent()
			for _, tracer := range []trace.Tracer{tracers[i], view.Tracer("ruled"), f.Tracer(fmt.Sprint(i))} {
				started(tracer)
			}
			f.Roots(f.gate)
			if i == len(tracers)/2 {
				assert.NoError(t, f.Shutdown(t.Context()))
			}
		})
	}
	group.Wait()
	for _, tracer := range tracers {
		assert.Same(t, f.Tracer("ruled"), tracer)
	}
}

// hookProvider is a base that calls a function while it makes a tracer.
type hookProvider struct {
	trace.TracerProvider
	hook func()
}

func (p *hookProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if hook := p.hook; hook != nil {
		p.hook = nil
		hook()
	}
	return p.TracerProvider.Tracer(name, opts...)
}

func TestTracerThatIsMadeTwiceAtOnceIsKeptOnce(t *testing.T) {
	base := &hookProvider{TracerProvider: noop.NewTracerProvider()}
	p, err := otelgate.NewTracerProvider(base, new(spangate.Gate))
	require.NoError(t, err)
	var meanwhile trace.Tracer
	base.hook = func() { meanwhile = p.Tracer("lib") }
	assert.Same(t, p.Tracer("lib"), meanwhile)
	assert.Same(t, p.Tracer("lib"), meanwhile)
}

// Do and a transparent rule do not change the other rules of the scope.
func TestTransparencyIsPerRule(t *testing.T) {
	f := newFixture(t, on,
		otelgate.Rule{Scope: "lib", Name: "transparent", Group: off, Transparent: true},
		otelgate.Rule{Scope: "lib", Name: "plain", Group: off},
		otelgate.Rule{Scope: "lib", Kind: trace.SpanKindServer, Group: off})
	ctx, above := f.tracerOf(on).Start(t.Context(), "above")
	defer above.End()
	server := trace.WithSpanKind(trace.SpanKindServer)
	for _, tt := range []struct {
		name        string
		opts        []trace.SpanStartOption
		transparent bool
	}{
		{"transparent", nil, true}, {"plain", nil, false}, {"other", []trace.SpanStartOption{server}, false},
	} {
		got, s := f.Tracer("lib").Start(ctx, tt.name, tt.opts...)
		assert.False(t, s.IsRecording(), tt.name)
		assert.Equal(t, tt.transparent, ctx == got, tt.name)
		got, _ = f.Transparent().Tracer("lib").Start(ctx, tt.name, tt.opts...)
		assert.True(t, ctx == got, "%s, a transparent view", tt.name)
		require.NoError(t, otelgate.Do(ctx, f.Tracer("lib"), tt.name, func(got context.Context, _ trace.Span) error {
			assert.True(t, ctx == got, "%s, Do", tt.name)
			return nil
		}, tt.opts...))
	}
}

func TestNilOptionDoesNothing(t *testing.T) {
	for _, opt := range []otelgate.Option{nil, (*otelgate.Rule)(nil), (*otelgate.Rules)(nil), otelgate.Rules(nil)} {
		f := newFixture(t, on, opt, &otelgate.Rule{Scope: "lib", Group: off})
		assert.False(t, started(f.Tracer("lib")), "%T", opt)
		assert.True(t, started(f.Tracer("other")), "%T", opt)
	}
}

func TestConstructorQuotesTheBeginningOfALongPattern(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, r := range []otelgate.Rule{{Scope: long}, {Scope: "*" + long, Group: 1}, {Name: "*" + long, Group: 1}} {
		_, err := otelgate.NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate), r)
		require.ErrorIs(t, err, otelgate.ErrInvalidRule)
		assert.Less(t, len(err.Error()), 512)
	}
}

func TestConstructorRefusesInvalidArguments(t *testing.T) {
	sdk := sdktrace.NewTracerProvider()
	gate := new(spangate.Gate)
	var typedNil *sdktrace.TracerProvider
	var nilView *otelgate.TracerProvider
	for _, tt := range []struct {
		what   string
		base   trace.TracerProvider
		gate   *spangate.Gate
		rules  []otelgate.Rule
		reason error
		text   string
	}{
		{"no base", nil, gate, nil, otelgate.ErrNilProvider, "pass the SDK's provider"},
		{"a typed nil", typedNil, gate, nil, otelgate.ErrNilProvider, "(*trace.TracerProvider)"},
		{"a nil gated provider", nilView, gate, nil, otelgate.ErrNilProvider, "(*otelgate.TracerProvider)"},
		{"no gate", sdk, nil, nil, otelgate.ErrNilGate, "new(spangate.Gate)"},
		{"a star in the middle", sdk, gate, []otelgate.Rule{{Scope: "ok*", Group: 1}, {Scope: "a*b", Group: 1}}, otelgate.ErrInvalidRule, `rule 1: scope "a*b" has a '*' at byte 1`},
		{"two stars", sdk, gate, []otelgate.Rule{{Scope: "a**", Group: 1}}, otelgate.ErrInvalidRule, "rule 0"},
		{"an unknown kind", sdk, gate, []otelgate.Rule{{Kind: trace.SpanKindConsumer + 1, Group: 1}}, otelgate.ErrInvalidRule, "kind 6"},
		{"a negative kind", sdk, gate, []otelgate.Rule{{Kind: -1, Group: 1}}, otelgate.ErrInvalidRule, "kind -1"},
		{"a star in the middle of a name", sdk, gate, []otelgate.Rule{{Name: "*x", Group: 1}}, otelgate.ErrInvalidRule, `rule 0: name "*x" has a '*' at byte 0`},
		{"no client group for HTTP", sdk, gate, otelgate.HTTPRules(1, 0), otelgate.ErrInvalidRule, "rule 1"},
		{"no group", sdk, gate, []otelgate.Rule{{Scope: "lib"}}, otelgate.ErrInvalidRule, `scope "lib" has no group`},
	} {
		p, err := otelgate.NewTracerProvider(tt.base, tt.gate, otelgate.Rules(tt.rules))
		assert.Nil(t, p, tt.what)
		assert.ErrorIs(t, err, tt.reason, tt.what)
		assert.ErrorContains(t, err, tt.text, tt.what)
	}
}

func TestBaseNeedNotBeTheSDK(t *testing.T) {
	p, err := otelgate.NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate))
	require.NoError(t, err)
	assert.False(t, started(p.Tracer("x")))
	assert.NoError(t, p.Shutdown(t.Context()))
	assert.NoError(t, p.ForceFlush(t.Context()))
}

func TestZeroProviderStartsNoSpans(t *testing.T) {
	for _, p := range []*otelgate.TracerProvider{nil, {}} {
		assert.False(t, started(p.Tracer("x")))
		assert.False(t, started(p.Group(1).Tracer("x")))
		assert.False(t, started(p.WithGate(spangate.NewGate(1)).Tracer("x")))
		assert.False(t, started(p.Transparent().Tracer("x")))
		assert.NoError(t, p.Shutdown(t.Context()))
		assert.NoError(t, p.ForceFlush(t.Context()))
	}
}

func TestRulesAreCopied(t *testing.T) {
	rules := otelgate.Rules{{Scope: "lib", Group: 1}}
	f := newFixture(t, 1, rules)
	rules[0].Group = 2
	assert.True(t, started(f.Tracer("lib")))
}

// closer is a base with Shutdown and ForceFlush.
type closer struct {
	noop.TracerProvider
	shutdown, flushed error
}

func (c closer) Shutdown(ctx context.Context) error   { return cmp.Or(c.shutdown, ctx.Err()) }
func (c closer) ForceFlush(ctx context.Context) error { return cmp.Or(c.flushed, ctx.Err()) }

func TestShutdownAndForceFlushReachTheBase(t *testing.T) {
	f := newFixture(t, on)
	batched := sdktrace.NewBatchSpanProcessor(f.exported, sdktrace.WithBatchTimeout(time.Hour))
	f.sdk.RegisterSpanProcessor(batched)
	assert.True(t, started(f.tracerOf(on)))
	require.Len(t, f.exported.GetSpans(), 1, "exported by the simple processor")
	require.NoError(t, f.Group(on).ForceFlush(t.Context()))
	assert.Len(t, f.exported.GetSpans(), 2, "exported by the batch processor too, after the flush")
	require.NoError(t, f.Group(on).Shutdown(t.Context()))
	assert.False(t, started(f.tracerOf(on)), "the SDK is shut down")

	shutdown, flushed := errors.New("shutdown"), errors.New("flush")
	p, err := otelgate.NewTracerProvider(&closer{shutdown: shutdown, flushed: flushed}, f.gate)
	require.NoError(t, err)
	assert.Same(t, shutdown, p.Shutdown(t.Context()))
	assert.Same(t, flushed, p.ForceFlush(t.Context()))

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	p, err = otelgate.NewTracerProvider(&closer{}, f.gate)
	require.NoError(t, err)
	assert.ErrorIs(t, p.Shutdown(canceled), context.Canceled)
	assert.ErrorIs(t, p.ForceFlush(canceled), context.Canceled)
}
