// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

// fixture has what the goroutines of a test set and register. Specs and presets are chosen such that
// a word between two generations, such as the union of two specs, belongs to no generation.
type fixture struct {
	specs   []string
	pins    [][]string
	members map[string]modelNamespace
	opts    map[string][]registry.RegisterOption
	gates   map[string][2]library // two gates of one catalog, so that Override may change it
}

func newFixture(t testing.TB) *fixture {
	c := &fixture{
		specs:   []string{"low", "high", "all,-low", "all,-high,-shared", "ends,late", "shared", "-all"},
		pins:    [][]string{{}, {"shared"}, {"a1", "b2", "c3", "d4"}},
		members: map[string]modelNamespace{}, opts: map[string][]registry.RegisterOption{}, gates: map[string][2]library{},
	}
	for _, namespace := range []string{"a", "b", "c", "d", "e"} {
		groups := []string{"shared"}
		for _, digit := range "12345678" {
			groups = append(groups, namespace+string(digit))
		}
		presets := map[string][]string{"low": groups[1:5], "high": groups[5:]}
		one, two := newLibrary(t, namespace, groups, presets), newLibrary(t, namespace, groups, presets)
		c.gates[namespace] = [2]library{one, two}
		c.opts[namespace] = []registry.RegisterOption{registry.Preset("ends", groups[1], groups[8], "a8", "e1")}
		c.members[namespace] = modelNamespace{groups: newSet(groups...), presets: map[string]set{
			"low": newSet(groups[1:5]...), "high": newSet(groups[5:]...), "ends": newSet(groups[1], groups[8], "a8", "e1"),
		}}
	}
	return c
}

// words returns the words that a gate of each namespace may have: those of every possible
// generation, and the empty one while the namespace is not registered.
func (c *fixture) words() map[string]map[spangate.Mask]bool {
	words := map[string]map[spangate.Mask]bool{}
	namespaces := slices.Sorted(maps.Keys(c.members))
	for _, namespace := range namespaces {
		words[namespace] = map[spangate.Mask]bool{0: true}
	}
	for subset := range 1 << len(namespaces) {
		m := newModel()
		for i, namespace := range namespaces {
			if subset&(1<<i) != 0 {
				m.namespaces[namespace] = c.members[namespace]
			}
		}
		add := func() {
			enabled, _, _ := m.state()
			for namespace := range m.namespaces {
				words[namespace][c.gates[namespace][0].word(enabled)] = true
			}
		}
		for _, m.spec = range c.specs {
			m.pin = nil
			add()
		}
		for _, pin := range c.pins {
			m.pin = newSet(pin...)
			add()
		}
	}
	return words
}

func TestGatesShowOnlyWordsOfGenerations(t *testing.T) {
	c := newFixture(t)
	words := c.words()
	r := registry.New()
	var done atomic.Bool
	var readers, writers sync.WaitGroup

	for namespace, gates := range c.gates {
		readers.Go(func() {
			for ; !done.Load(); runtime.Gosched() {
				for _, l := range gates {
					if word := l.gate.Load(); !words[namespace][word] {
						t.Errorf("gate of %s shows %v, which belongs to no generation", namespace, word)
						return
					}
				}
			}
		})
	}
	readers.Go(func() {
		for ; !done.Load(); runtime.Gosched() {
			// a1 and a2 are of one namespace, so both are registered or neither is.
			enabled, _ := r.Resolve("all")
			assert.Equal(t, slices.Contains(enabled, "a1"), slices.Contains(enabled, "a2"), "two generations in one read")
			presets := r.Presets()
			assert.Subset(t, presets["all"], presets["ends"], "two generations in one read")
			enabled = r.Enabled()
			assert.Equal(t, slices.Contains(enabled, "a5"), slices.Contains(enabled, "a6"), "two generations in one read")
		}
	})
	for i := range 64 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for range 50 {
				c.act(t, r, random)
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()

	// A registry in which one goroutine sets only the final state has the same words.
	again := registry.New()
	if spec, pin, pinned := registry.Intent(r); pinned {
		require.NoError(t, again.Pin(pin...))
	} else {
		again.SetSpec(spec)
	}
	live := newSet(r.Namespaces()...)
	want := map[string]library{}
	for namespace := range live {
		want[namespace] = newFixture(t).gates[namespace][0].add(t, again, c.opts[namespace]...)
	}
	require.Equal(t, again.Enabled(), r.Enabled())
	require.Equal(t, again.Pending(), r.Pending())
	for namespace, gates := range c.gates {
		got := []spangate.Mask{gates[0].gate.Load(), gates[1].gate.Load()}
		if live[namespace] {
			require.ElementsMatch(t, []spangate.Mask{want[namespace].gate.Load(), 0}, got, namespace)
		} else {
			require.Equal(t, []spangate.Mask{0, 0}, got, namespace)
		}
	}
}

// TestGateShowsNoWordBetweenGenerations has a namespace that never leaves, so that its
// gate has two words only: any other, such as zero between the two, is an error.
func TestGateShowsNoWordBetweenGenerations(t *testing.T) {
	c := newFixture(t)
	r := registry.New()
	r.SetSpec("low")
	a, b := c.gates["a"][0].add(t, r), c.gates["b"][0]
	low, _ := a.catalog.Lookup("low")
	high, _ := a.catalog.Lookup("high")

	var done atomic.Bool
	var readers, writers sync.WaitGroup
	reading := make(chan struct{})
	readers.Go(func() {
		close(reading)
		for ; !done.Load(); runtime.Gosched() {
			if word := a.gate.Load(); word != low && word != high {
				t.Errorf("the gate shows %v", word)
				return
			}
		}
	})
	<-reading
	const changes = 3000
	writers.Go(func() {
		for i := range changes {
			r.SetSpec([]string{"low", "high"}[i%2])
		}
	})
	writers.Go(func() {
		for range changes {
			assert.NoError(t, r.Register(b.catalog, b.gate))
			assert.NoError(t, r.Unregister("b"))
		}
	})
	writers.Go(func() {
		for range changes {
			assert.NoError(t, r.Register(a.catalog, a.gate, registry.Override()))
		}
	})
	writers.Wait()
	done.Store(true)
	readers.Wait()
}

func TestNoChangeIsLost(t *testing.T) {
	for range 20 {
		r := registry.New()
		start := make(chan struct{})
		var writers sync.WaitGroup
		for i := range 64 {
			l := newLibrary(t, fmt.Sprint("lib", i), []string{fmt.Sprint("group", i)}, nil)
			writers.Go(func() {
				<-start
				if i == 32 {
					r.SetSpec("all")
				}
				assert.NoError(t, r.Register(l.catalog, l.gate))
			})
		}
		close(start)
		writers.Wait()
		require.Len(t, r.Namespaces(), 64)
		require.Len(t, r.Enabled(), 64)
	}
}

// act makes one random change.
func (c *fixture) act(t *testing.T, r *registry.Registry, random *rand.Rand) {
	namespaces := slices.Sorted(maps.Keys(c.gates))
	namespace := namespaces[random.IntN(len(namespaces))]
	l := c.gates[namespace][random.IntN(2)]
	switch random.IntN(8) {
	case 0, 1:
		if err := r.Register(l.catalog, l.gate, c.opts[namespace]...); err != nil {
			assert.ErrorIs(t, err, registry.ErrNamespaceTaken)
		}
	case 2:
		assert.NoError(t, r.Register(l.catalog, l.gate, append(c.opts[namespace], registry.Override())...))
	case 3:
		if err := r.Unregister(namespace); err != nil {
			assert.ErrorIs(t, err, registry.ErrNamespaceUnknown)
		}
	case 4:
		assert.NoError(t, r.Pin(c.pins[random.IntN(len(c.pins))]...))
	default:
		r.SetSpec(c.specs[random.IntN(len(c.specs))])
	}
}
