// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// finder is a function for Discover that records its calls.
type finder struct {
	gate  *spangate.Gate
	group spangate.Mask
	hook  func(scope string) // unless nil

	mu    sync.Mutex
	calls []string
}

func (f *finder) find(scope string) (*spangate.Gate, spangate.Mask) {
	f.mu.Lock()
	f.calls = append(f.calls, scope)
	f.mu.Unlock()
	if f.hook != nil {
		f.hook(scope)
	}
	return f.gate, f.group
}

func TestDiscoverIsAskedOnceForEachScopeThatNoRuleNames(t *testing.T) {
	const a, b = spangate.Mask(1), spangate.Mask(2)
	found := finder{gate: spangate.NewGate(0), group: b}
	byName := otelgate.Rule{Name: "eval", Group: a}
	f := newFixture(t, a, otelgate.Discover(found.find),
		byName, otelgate.Rule{Scope: "*", Kind: trace.SpanKindServer, Group: a},
		otelgate.Rule{Scope: "by kind", Kind: trace.SpanKindClient, Group: a}, otelgate.Rule{Scope: "by scope*", Group: a})

	for range 2 {
		assert.True(t, started(f.Tracer("by scope, a prefix")))
		assert.True(t, started(f.Tracer("by kind")), "a rule names the scope, so its other spans are always on")
		f.Group(a).Tracer("of a view")
		assert.False(t, started(f.Tracer("lib")))
		assert.False(t, started(f.Tracer("lib", trace.WithInstrumentationVersion("v2"))))
		assert.False(t, started(f.Transparent().WithGate(f.gate).Tracer("lib")))
		assert.True(t, started(f.Tracer("lib"), trace.WithSpanKind(trace.SpanKindServer)), "a rule without a scope is asked first")
		assert.False(t, started(f.Tracer("")))
	}
	found.gate.Store(b)
	assert.True(t, started(f.Tracer("lib")))
	assert.Equal(t, []string{"lib", otelgate.EmptyScope}, found.calls)

	scopes := scopesOf(f.TracerProvider)
	i := slices.IndexFunc(scopes, func(s otelgate.Scope) bool { return s.Name == "lib" })
	require.Len(t, scopes[i].Sites, 3)
	assert.Equal(t, byName, scopes[i].Sites[0].Rule)
	assert.Equal(t, otelgate.Site{Gate: found.gate, Group: b, Started: 1}, scopes[i].Sites[2])
}

func TestDiscoverIsNotAskedBehindARuleForEverything(t *testing.T) {
	for _, r := range []otelgate.Rule{{Group: off}, {Scope: "*", Group: off}, {Name: "*", Group: off}} {
		found := finder{gate: spangate.NewGate(1), group: 1}
		f := newFixture(t, on, otelgate.Discover(found.find), r)
		assert.False(t, started(f.Tracer("lib")))
		assert.Empty(t, found.calls)
	}
}

func TestScopeThatDiscoverFindsNoGroupForIsAlwaysOn(t *testing.T) {
	for _, found := range []*finder{{group: 1}, {gate: new(spangate.Gate)}} {
		f := newFixture(t, 0, otelgate.Discover(found.find))
		assert.True(t, started(f.Tracer("lib")))
		assert.Equal(t, []otelgate.Site{{Started: 1}}, scopesOf(f.TracerProvider)[0].Sites)
	}
}

func TestRootsHasTheGroupsThatDiscoverFound(t *testing.T) {
	found := finder{gate: spangate.NewGate(0), group: 4}
	f := newFixture(t, 0, otelgate.Discover(found.find))
	assert.False(t, started(f.Tracer("lib")))
	assert.EqualValues(t, 4, f.Roots(found.gate))
	assert.Zero(t, f.Roots(f.gate))
}

func TestConcurrentFirstUsesOfAScopeAskDiscoverOnce(t *testing.T) {
	found := finder{gate: spangate.NewGate(0), group: 1}
	f := newFixture(t, 0, otelgate.Discover(found.find))
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() { started(f.Tracer("lib")) })
	}
	group.Wait()
	assert.Equal(t, []string{"lib"}, found.calls)
	before := scopesOf(f.TracerProvider)[0].Started
	assert.False(t, started(f.Tracer("lib")))
	assert.Equal(t, before, scopesOf(f.TracerProvider)[0].Started)
}

func TestTracerWaitsUntilTheGroupOfItsScopeIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found, release := finder{gate: spangate.NewGate(0), group: 1}, make(chan struct{})
		found.hook = func(string) { <-release }
		f := newFixture(t, 0, otelgate.Discover(found.find))
		var spans, returned atomic.Int64
		for range 8 {
			go func() {
				for _, p := range []*otelgate.TracerProvider{f.TracerProvider, f.Transparent(), f.WithGate(found.gate)} {
					for _, version := range []string{"1", "2"} {
						if started(p.Tracer("lib", trace.WithInstrumentationVersion(version))) {
							spans.Add(1)
						}
					}
				}
				returned.Add(1)
			}()
		}
		synctest.Wait()
		assert.Zero(t, returned.Load())
		assert.True(t, started(f.Group(on).WithGate(spangate.NewGate(on)).Tracer("lib")), "the group of a view is known")
		close(release)
		synctest.Wait()
		assert.EqualValues(t, 8, returned.Load())
		assert.Zero(t, spans.Load())
		assert.Equal(t, []string{"lib"}, found.calls)
	})
}

// Each call of the function asks for a tracer of the scope that the other call is about.
func TestCallsOfDiscoverDoNotWaitForEachOther(t *testing.T) {
	found, both := finder{gate: spangate.NewGate(0), group: 1}, new(sync.WaitGroup)
	f := newFixture(t, 0, otelgate.Discover(found.find))
	both.Add(2)
	found.hook = func(scope string) {
		both.Done()
		both.Wait()
		f.Tracer(map[string]string{"a": "b", "b": "a"}[scope])
	}
	var group sync.WaitGroup
	for _, scope := range []string{"a", "b"} {
		group.Go(func() { assert.False(t, started(f.Tracer(scope))) })
	}
	group.Wait()
	assert.ElementsMatch(t, []string{"a", "b"}, found.calls)
}

// A function that registers a gate logs, and a log handler may start spans, even of the scope that
// is being asked for. A tracer that it got meanwhile is gated afterwards.
func TestDiscoverMayUseTheProvider(t *testing.T) {
	found := finder{gate: spangate.NewGate(0), group: 1}
	f := newFixture(t, 0, otelgate.Discover(found.find))
	meanwhile := map[string]trace.Tracer{}
	found.hook = func(string) {
		for _, scope := range []string{"lib", "log"} {
			if meanwhile[scope] == nil {
				meanwhile[scope] = f.Tracer(scope)
				started(meanwhile[scope])
			}
		}
		assert.NotEmpty(t, scopesOf(f.TracerProvider))
		f.Roots(f.gate)
	}
	tracer := f.Tracer("lib")
	assert.Same(t, tracer, meanwhile["lib"])
	for scope, tracer := range meanwhile {
		assert.False(t, started(tracer), scope)
		require.NoError(t, otelgate.Do(t.Context(), tracer, "do", func(_ context.Context, s trace.Span) error {
			assert.False(t, s.IsRecording(), scope)
			return nil
		}))
	}
	assert.ElementsMatch(t, []string{"lib", "log"}, found.calls)
}

func TestPanicOfDiscoverLeavesTheScopeOnAndTheProviderUsable(t *testing.T) {
	found := finder{hook: func(string) { panic("find") }}
	f := newFixture(t, 0, otelgate.Discover(found.find))
	assert.PanicsWithValue(t, "find", func() { f.Tracer("lib") })
	assert.True(t, started(f.Tracer("lib")))
	assert.Equal(t, []string{"lib"}, found.calls)
	assert.EqualValues(t, 1, scopesOf(f.TracerProvider)[0].Started)
}

func TestNilDiscoverIsAnInvalidOption(t *testing.T) {
	p, err := otelgate.NewTracerProvider(sdktrace.NewTracerProvider(), new(spangate.Gate), otelgate.Discover(nil))
	assert.Nil(t, p)
	require.ErrorIs(t, err, otelgate.ErrInvalidOption)
	assert.ErrorContains(t, err, "Discover was given a nil function")
}
