// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

func TestGateBelongsToOneRegistry(t *testing.T) {
	one, two := registry.New(), registry.New()
	lib := mylib(t).add(t, one)
	one.SetSpec("tx")
	two.SetSpec("query")
	before := two.State()
	for _, opts := range [][]registry.RegisterOption{nil, {registry.Override()}} {
		err := two.Register(lib.catalog, lib.gate, opts...)
		require.ErrorIs(t, err, registry.ErrGateElsewhere)
		require.ErrorIs(t, err, registry.ErrGateTaken)
		require.Equal(t, `spangate/registry: register "mylib": gate taken by another registry: two registries would both set its word; unregister it there first, or give it one registry`, err.Error())
	}
	require.NotErrorIs(t, one.Register(spangate.Gym, lib.gate), registry.ErrGateElsewhere, "of this registry")
	require.Equal(t, before, two.State())
	require.Equal(t, "tx", lib.names())

	require.NoError(t, one.Unregister("mylib"))
	lib.add(t, two)
	require.Equal(t, "query", lib.names())
	one.SetSpec("all")
	require.Equal(t, "query", lib.names())
	require.ErrorIs(t, one.Register(lib.catalog, lib.gate), registry.ErrGateElsewhere)
}

func TestReplacedGateIsFree(t *testing.T) {
	one, two := registry.New(), registry.New()
	old, now := mylib(t).add(t, one), mylib(t)
	now.add(t, one, registry.Override())
	old.add(t, two)
	require.ErrorIs(t, two.Register(now.catalog, now.gate, registry.Override()), registry.ErrGateElsewhere)
	now.add(t, one, registry.Override())
	require.ErrorIs(t, two.Register(now.catalog, now.gate, registry.Override()), registry.ErrGateElsewhere, "the same gate again")
}

func TestRefusedRegistrationLeavesTheGateFree(t *testing.T) {
	one, two := registry.New(), registry.New()
	mylib(t).add(t, one)
	lib := mylib(t)
	require.ErrorIs(t, one.Register(lib.catalog, lib.gate), registry.ErrNamespaceTaken)
	require.ErrorIs(t, one.Register(spangate.Gym, lib.gate, registry.Preset("all")), registry.ErrReservedName)
	lib.add(t, two)
}

func TestOnlyOneOfConcurrentRegistriesGetsTheGate(t *testing.T) {
	for range 200 {
		var gate spangate.Gate
		var registered atomic.Pointer[registry.Registry]
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				r := registry.New()
				r.SetSpec("all")
				switch err := r.Register(spangate.Gym, &gate); err {
				case nil:
					assert.Nil(t, registered.Swap(r))
				default:
					assert.ErrorIs(t, err, registry.ErrGateElsewhere)
				}
			})
		}
		all.Wait()
		r := registered.Load()
		require.NotNil(t, r)
		require.Equal(t, spangate.Gym.All(), gate.Load())
		require.NoError(t, r.Unregister("nemo_gym"))
		require.Zero(t, gate.Load(), "no other registry writes it")
	}
}

// Two registries take turns with one gate: one that has unregistered it must not write it any more.
func TestRegistryDoesNotWriteAGateThatItUnregistered(t *testing.T) {
	var gate spangate.Gate
	var all sync.WaitGroup
	for _, spec := range []string{"job", "step"} {
		want := spangate.MustParse(spec)
		all.Go(func() {
			r := registry.New()
			r.SetSpec(spec)
			for range 2000 {
				if err := r.Register(spangate.Gym, &gate); err != nil {
					assert.ErrorIs(t, err, registry.ErrGateElsewhere)
					runtime.Gosched()
					continue
				}
				assert.Equal(t, want, gate.Load())
				assert.NoError(t, r.Unregister("nemo_gym"))
			}
		})
	}
	all.Wait()
	require.Zero(t, gate.Load())
}

func TestGlobalGatesAndStructFieldsHaveOwners(t *testing.T) {
	var s struct{ a, b spangate.Gate }
	for _, gate := range []*spangate.Gate{&globalGate, &s.a, &s.b} {
		one, two := new(registry.Registry), new(registry.Registry)
		require.NoError(t, one.Register(spangate.Gym, gate))
		require.ErrorIs(t, two.Register(spangate.Gym, gate), registry.ErrGateElsewhere)
		require.NoError(t, one.Unregister("nemo_gym"))
		require.NoError(t, two.Register(spangate.Gym, gate))
		require.NoError(t, two.Unregister("nemo_gym"))
	}
}

var globalGate spangate.Gate

// The table of owners keeps neither registry nor gate alive, and does not grow with collected
// registries.
func TestCollectedRegistryFreesItsGates(t *testing.T) {
	kept := mylib(t)
	abandon := func() (r weak.Pointer[registry.Registry], gate weak.Pointer[spangate.Gate]) {
		one := registry.New()
		kept.add(t, one)
		one.SetSpec("tx")
		own := gym().add(t, one)
		return weak.Make(one), weak.Make(own.gate)
	}
	r, gate := abandon()
	for range 100 {
		if runtime.GC(); r.Value() == nil {
			break
		}
	}
	require.Nil(t, r.Value())
	require.Nil(t, gate.Value())
	kept.add(t, registry.New())
	registry.Sweep()
	after := registry.Owned()

	for range 1000 {
		gym().add(t, registry.New())
	}
	runtime.GC()
	runtime.GC()
	registry.Sweep()
	require.LessOrEqual(t, registry.Owned(), after+8)
}
