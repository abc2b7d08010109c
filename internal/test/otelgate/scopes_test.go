// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// start starts n spans of a tracer, and ends them.
func start(t *testing.T, n int, tracer trace.Tracer, name string, opts ...trace.SpanStartOption) {
	t.Helper()
	for range n {
		_, s := tracer.Start(t.Context(), name, opts...)
		s.End()
	}
}

func scopesOf(p *otelgate.TracerProvider) []otelgate.Scope { return slices.Collect(p.Scopes()) }

func TestScopesListsSitesInTheOrderOfTheRulesWithTheirSpans(t *testing.T) {
	const a, b = spangate.Mask(1), spangate.Mask(2)
	other := spangate.NewGate(b)
	named := otelgate.Rule{Name: "eval*", Group: a}
	client := otelgate.Rule{Scope: "lib*", Kind: trace.SpanKindClient, Group: b, Transparent: true}
	rest := otelgate.Rule{Scope: "lib", Gate: other, Group: b}
	f := newFixture(t, a, otelgate.CountWithheld(), named, client, rest)

	start(t, 1, f.Tracer("lib", trace.WithInstrumentationVersion("v1")), "evaluate")
	start(t, 2, f.Tracer("lib", trace.WithInstrumentationVersion("v2")), "evaluate")
	start(t, 3, f.Tracer("lib"), "query", trace.WithSpanKind(trace.SpanKindClient)) // off
	start(t, 4, f.Tracer("lib"), "query")
	start(t, 5, f.Tracer(""), "s")
	f.Tracer("another") // seen, not used

	assert.Equal(t, []otelgate.Scope{
		{Name: "another", Sites: []otelgate.Site{
			{Rule: named, Gate: f.gate, Group: a},
			{},
		}},
		{Name: otelgate.EmptyScope, Started: 5, Sites: []otelgate.Site{
			{Rule: named, Gate: f.gate, Group: a},
			{Started: 5},
		}},
		{Name: "lib", Started: 7, Withheld: 3, Sites: []otelgate.Site{
			{Rule: named, Gate: f.gate, Group: a, Started: 3},
			{Rule: client, Gate: f.gate, Group: b, Withheld: 3},
			{Rule: rest, Gate: other, Group: b, Started: 4},
		}},
	}, scopesOf(f.TracerProvider))
}

func TestScopesHasTheSitesOfViews(t *testing.T) {
	const a, b, c = spangate.Mask(1), spangate.Mask(2), spangate.Mask(4)
	other := spangate.NewGate(a)
	rule := otelgate.Rule{Scope: "lib", Group: a}
	f := newFixture(t, a|c, otelgate.CountWithheld(), rule)
	do := func(p *otelgate.TracerProvider) {
		require.NoError(t, otelgate.Do(t.Context(), p.Tracer("lib"), "do", func(context.Context, trace.Span) error { return nil }))
	}

	start(t, 1, f.Group(b).Tracer("lib"), "s")
	start(t, 1, f.Group(b).Transparent().Tracer("lib"), "s") // a view made again has the same site
	do(f.Group(b))
	start(t, 1, f.WithGate(other).Tracer("lib"), "s")
	start(t, 1, f.WithGate(other).Group(c).Tracer("lib"), "s")
	start(t, 1, f.Tracer("lib"), "s")
	start(t, 1, f.Transparent().Tracer("lib"), "s")
	do(f.TracerProvider)

	want := []otelgate.Scope{{Name: "lib", Started: 4, Withheld: 4, Sites: []otelgate.Site{
		{Rule: rule, Gate: other, Group: a, Started: 1},
		{Rule: rule, Gate: f.gate, Group: a, Started: 3},
		{Gate: f.gate, Group: b, Withheld: 3},
		{Gate: other, Group: c, Withheld: 1},
	}}}
	assert.Equal(t, want, scopesOf(f.TracerProvider))
	assert.Equal(t, want, scopesOf(f.Group(c)), "a view lists the scopes of all")
}

func TestWithheldSpansAreNotCountedUnlessAskedFor(t *testing.T) {
	f := newFixture(t, 0, otelgate.Rule{Group: 1})
	start(t, 1, f.Tracer("lib"), "s")
	assert.Zero(t, scopesOf(f.TracerProvider)[0].Withheld)
}

func TestSpanThatTheSamplerDropsIsCountedAsStarted(t *testing.T) {
	p := gatedOver(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	start(t, 2, p.Tracer("lib"), "s")
	assert.EqualValues(t, 2, scopesOf(p)[0].Started)
}

func TestSpanThatTheBaseDoesNotStartIsNotCounted(t *testing.T) {
	inner := newFixture(t, 0)
	for name, base := range map[string]trace.TracerProvider{
		"a gated provider whose gate is off": inner.Group(1),
		"a faulty one":                       baseOf{tracer: funcTracer{start: func(ctx context.Context) (context.Context, trace.Span) { return ctx, nil }}},
	} {
		p, err := otelgate.NewTracerProvider(base, new(spangate.Gate), otelgate.CountWithheld())
		require.NoError(t, err)
		start(t, 1, p.Tracer("lib"), "s", trace.WithNewRoot())
		start(t, 1, p.Tracer("lib"), "s")
		assert.Equal(t, []otelgate.Scope{{Name: "lib", Sites: []otelgate.Site{{}}}}, scopesOf(p), name)
	}
}

func TestNoCountOfAParallelSpanIsLost(t *testing.T) {
	const goroutines, each = 8, 500
	f := newFixture(t, on, otelgate.CountWithheld(), otelgate.Rule{Kind: trace.SpanKindServer, Group: off})
	f.sdk.UnregisterSpanProcessor(f.processor)
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			tracer := f.Tracer("lib")
			for range each {
				start(t, 1, tracer, "s")
				start(t, 1, tracer, "s", trace.WithSpanKind(trace.SpanKindServer))
			}
			scopesOf(f.TracerProvider)
		})
	}
	group.Wait()
	scope := scopesOf(f.TracerProvider)[0]
	assert.EqualValues(t, goroutines*each, scope.Started)
	assert.EqualValues(t, goroutines*each, scope.Withheld)
}

// No lock is held during the loop.
func TestProviderMayBeUsedInTheLoopOverScopes(t *testing.T) {
	f := newFixture(t, on, otelgate.Rule{Scope: "x", Group: on}, otelgate.Rule{Scope: "y", Group: on})
	f.Tracer("a")
	for scope := range f.Scopes() {
		f.Tracer("of " + scope.Name)
	}
	for range f.Unmatched() {
		f.Tracer("c")
		break
	}
	assert.Len(t, scopesOf(f.TracerProvider), 3)
}

func TestZeroProviderHasSeenNoScope(t *testing.T) {
	for _, p := range []*otelgate.TracerProvider{nil, {}, (*otelgate.TracerProvider)(nil).Group(1)} {
		p.Tracer("lib")
		assert.Empty(t, scopesOf(p))
		assert.Empty(t, slices.Collect(p.Unmatched()))
	}
}

func TestUnmatchedRuleHasTheNearestScopeSeen(t *testing.T) {
	seen := []string{
		"github.com/XSAM/otelsql",
		"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc",
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
		"github.com/redis/go-redis/extra/redisotel/v9",
		"github.com/openfga/openfga/pkg/server", "example.com/server",
		"github.com/openfga/openfga/internal//graph",
		"my.service",
	}
	for pattern, nearest := range map[string]string{
		"github.com/xsam/otelsql": seen[0],
		"otelsql":                 seen[0],
		"github.com/XSAM/otelsq":  seen[0],
		"github.com/xsam/*":       seen[0],
		"go.opentelemetry.io/contrib/instrumention/grpc*":               seen[1],
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhtpt": seen[2],
		"github.com/go-redis/redisotel/v8":                              seen[3],
		"github.com/openfga/server":                                     seen[4],
		"example.com/openfga/server":                                    seen[5],
		"my.servise":                                                    seen[7],
		"github.com/jackc/pgx":                                          "",
		"/":                                                             "",
		"v2":                                                            "",
	} {
		rule := otelgate.Rule{Scope: pattern, Kind: trace.SpanKindClient, Group: 1}
		f := newFixture(t, on, rule)
		assert.Equal(t, []otelgate.UnmatchedRule{{Rule: rule}}, slices.Collect(f.Unmatched()), "%s, before any scope is seen", pattern)
		for _, scope := range seen {
			f.Tracer(scope)
		}
		assert.Equal(t, []otelgate.UnmatchedRule{{Rule: rule, Nearest: nearest}}, slices.Collect(f.Unmatched()), pattern)
	}
}

func TestUnmatchedRulesAreThoseThatDecideNothing(t *testing.T) {
	any, lib := otelgate.Rule{Group: 1}, otelgate.Rule{Scope: "lib/*", Group: 1}
	named := otelgate.Rule{Name: "eval", Group: 1}
	f := newFixture(t, on, named, lib, any, lib, any)
	f.Group(1).Tracer("lib/view")
	assert.Equal(t, []otelgate.UnmatchedRule{{Rule: named}, {Rule: lib, Nearest: "lib/view"}, {Rule: any}, {Rule: lib, Nearest: "lib/view"}, {Rule: any}},
		slices.Collect(f.Unmatched()), "a view does not use the rules")
	f.Tracer("other")
	assert.Equal(t, []otelgate.UnmatchedRule{{Rule: lib, Nearest: "lib/view"}, {Rule: lib, Nearest: "lib/view"}, {Rule: any}},
		slices.Collect(f.Unmatched()), "the last rule is behind one that matches everything")
	f.Tracer("lib/a")
	assert.Equal(t, []otelgate.UnmatchedRule{{Rule: lib, Nearest: "lib/a"}, {Rule: any}}, slices.Collect(f.Unmatched()))
}

func TestNearestScopeOfALongNameIsFound(t *testing.T) {
	long := "example.com/" + fmt.Sprintf("%01000d", 0)
	f := newFixture(t, on, otelgate.Rule{Scope: long + "/sql", Group: 1}, otelgate.Rule{Scope: long, Group: 1})
	f.Tracer(long + "1/sql")
	unmatched := slices.Collect(f.Unmatched())
	assert.Equal(t, long+"1/sql", unmatched[0].Nearest)
	assert.Empty(t, unmatched[1].Nearest)
}

// A program may have a scope for each of its plugins.
func TestScopesMadeAtRunTimeAreAllCounted(t *testing.T) {
	p, err := otelgate.NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate), otelgate.CountWithheld())
	require.NoError(t, err)
	for i := range 300 {
		start(t, i, p.Tracer(fmt.Sprintf("plugin %03d", i)), "s")
	}
	for i, scope := range scopesOf(p) {
		assert.Equal(t, fmt.Sprintf("plugin %03d", i), scope.Name)
		assert.EqualValues(t, i, scope.Started)
		assert.Zero(t, scope.Withheld)
	}
}
