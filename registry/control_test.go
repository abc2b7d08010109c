// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

func control(t testing.TB, r *registry.Registry, see func(registry.Change)) *registry.Control {
	t.Helper()
	c, err := r.Control(see, nil)
	require.NoError(t, err)
	return c
}

func TestUpdateSeesTheStateItFollowsOn(t *testing.T) {
	r := registry.New()
	c := control(t, r, nil)
	const writers, changes = 8, 100
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range changes {
				var before uint64
				_ = c.Update(func(now registry.State) (registry.Plan, any, error) {
					before = now.Generation()
					assert.Equal(t, before, r.State().Generation())
					return registry.Plan{}, nil, nil
				})
				assert.Greater(t, r.State().Generation(), before)
			}
		})
	}
	all.Wait()
	require.Equal(t, new(registry.Registry).State().Generation()+writers*changes, r.State().Generation())
}

func TestRefusedUpdateMakesNoGeneration(t *testing.T) {
	r := registry.New()
	r.SetSpec("job")
	c := control(t, r, func(registry.Change) { t.Error("no change") })
	before := r.State()
	refused := errors.New("refused")
	refuse := func(registry.State) (registry.Plan, any, error) {
		return registry.Plan{Baseline: "all"}, nil, refused
	}
	require.Equal(t, refused, c.Update(refuse))
	require.Equal(t, refused, c.Release(refuse))
	require.ErrorIs(t, c.Update(nil), registry.ErrNilFunc)
	require.Panics(t, func() {
		_ = c.Update(func(registry.State) (registry.Plan, any, error) { panic("next") })
	})
	require.Error(t, r.Pin("all"))
	require.Error(t, r.Unregister("unknown"))
	require.Error(t, r.Register(nil, nil))
	require.Equal(t, before, r.State())
	require.NoError(t, c.Release(nil), "it has not been released, and no lock is held")
	require.Equal(t, before, r.State())
}

// TestChangeCarriesWhatMadeIt has every operation that changes a registry.
func TestChangeCarriesWhatMadeIt(t *testing.T) {
	r := registry.New()
	lib := gym()
	var seen []registry.Change
	c := control(t, r, func(ch registry.Change) {
		assert.Equal(t, ch.New, r.State(), "the state shows it")
		if len(ch.New.Namespaces()) > 0 {
			assert.Equal(t, lib.names(), spangate.Gym.Format(mask(ch.New.Enabled())), "the gates show it")
		}
		seen = append(seen, ch)
	})
	first := r.State()
	cause := &struct{}{}
	for _, do := range []func() error{
		func() error { r.SetSpec("job"); return nil },
		func() error { return r.Register(lib.catalog, lib.gate) },
		func() error {
			return c.Update(func(registry.State) (registry.Plan, any, error) {
				return registry.Plan{Baseline: "agent"}, cause, nil
			})
		},
		func() error { return r.Register(lib.catalog, lib.gate, registry.Override()) },
		func() error { return r.Pin("step") },
		func() error { return c.Update(planned(registry.Plan{Baseline: "all"})) },
		func() error { return r.Unregister(" NEMO_GYM ") },
		func() error {
			return c.Release(func(registry.State) (registry.Plan, any, error) { return registry.Plan{}, "last", nil })
		},
	} {
		require.NoError(t, do())
	}
	r.SetSpec("") // no longer seen

	type made struct {
		op, namespace string
		cause         any
		enabled       []string
	}
	var got []made
	old := first
	for _, ch := range seen {
		require.Equal(t, old, ch.Old)
		require.Equal(t, old.Generation()+1, ch.New.Generation())
		old = ch.New
		got = append(got, made{ch.Op, ch.Namespace, ch.Cause, ch.New.Enabled()})
	}
	require.Equal(t, []made{
		{registry.OpSetSpec, "", nil, []string{}},
		{registry.OpRegister, "nemo_gym", nil, []string{"job"}},
		{registry.OpUpdate, "", cause, []string{"agent"}},
		{registry.OpReplace, "nemo_gym", nil, []string{"agent"}},
		{registry.OpPin, "", nil, []string{"step"}},
		{registry.OpUpdate, "", nil, []string{"step"}},
		{registry.OpUnregister, "nemo_gym", nil, []string{}},
		{registry.OpUpdate, "", "last", []string{}},
	}, got)
}

func mask(names []string) spangate.Mask {
	var m spangate.Mask
	for _, name := range names {
		bit, _ := spangate.Gym.Lookup(name)
		m = m.With(bit)
	}
	return m
}

func TestRegistryHasOneControlAtATime(t *testing.T) {
	r := registry.New()
	first := control(t, r, func(registry.Change) { t.Error("it changes nothing") })
	before := r.State()
	_, err := r.Control(nil, nil)
	require.ErrorIs(t, err, registry.ErrControlled)
	require.Equal(t, "spangate/registry: control: registry has a controller: release the one that it has, by closing its controller", err.Error())
	require.NoError(t, first.Release(nil))
	require.Equal(t, before, r.State())

	second := control(t, r, nil)
	require.NoError(t, second.Update(planned(registry.Plan{Baseline: "job"})))
	before = r.State()
	for _, c := range []*registry.Control{first, nil, new(registry.Control)} {
		require.ErrorIs(t, c.Update(planned(registry.Plan{})), registry.ErrReleased)
		require.ErrorIs(t, c.Release(planned(registry.Plan{})), registry.ErrReleased)
		require.ErrorIs(t, c.Release(nil), registry.ErrReleased)
	}
	require.Equal(t, before, r.State())
	_, err = r.Control(nil, nil)
	require.ErrorIs(t, err, registry.ErrControlled)
	require.NoError(t, second.Release(planned(registry.Plan{})))
	require.NoError(t, control(t, r, nil).Release(nil))
}

func TestOfManyControlsAtOnceOneIsGiven(t *testing.T) {
	for range 100 {
		r := registry.New()
		var given atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				c, err := r.Control(nil, nil)
				if err != nil {
					assert.ErrorIs(t, err, registry.ErrControlled)
					return
				}
				given.Add(1)
				assert.NoError(t, c.Update(planned(registry.Plan{})))
			})
		}
		all.Wait()
		require.EqualValues(t, 1, given.Load())
	}
}

func TestPanicOfAnObserverLeavesGatesAndStateInAgreement(t *testing.T) {
	r, rec := recorded()
	lib := gym()
	panicking := true
	c := control(t, r, func(registry.Change) {
		if panicking {
			panic("observer")
		}
	})
	for _, change := range []func(){
		func() { _ = r.Register(lib.catalog, lib.gate) },
		func() { r.SetSpec("job,step") },
		func() { _ = r.Pin("agent") },
		func() { r.SetSpec("") },
		func() { _ = c.Update(planned(registry.Plan{Baseline: "sandbox,nope"})) },
		func() { _ = r.Register(lib.catalog, lib.gate, registry.Override()) },
	} {
		before := r.State().Generation()
		require.PanicsWithValue(t, "observer", change, "it reaches the caller")
		require.Equal(t, before+1, r.State().Generation(), "the change was made")
		require.Equal(t, lib.names(), spangate.Gym.Format(mask(r.Enabled())))
	}
	require.Equal(t, "sandbox", lib.names())
	require.NotEmpty(t, rec.take(), "records are not lost")

	require.PanicsWithValue(t, "observer", func() { _ = r.Unregister("nemo_gym") })
	require.Zero(t, lib.gate.Load())
	require.Empty(t, r.Groups())

	require.PanicsWithValue(t, "observer", func() { _ = c.Release(planned(registry.Plan{})) })
	panicking = false
	require.NoError(t, control(t, r, nil).Release(nil), "it was released")
	lib.add(t, r)
	r.SetSpec("job")
	require.Equal(t, "job", lib.names())
}

func TestPinHoldsAgainstAControl(t *testing.T) {
	for _, first := range []string{"pin first", "control first"} {
		t.Run(first, func(t *testing.T) {
			r := registry.New()
			lib := gym().add(t, r)
			if first == "pin first" {
				require.NoError(t, r.Pin("job", "tx"))
			}
			c := control(t, r, nil)
			require.Equal(t, first == "pin first", r.State().Pinned())
			if first == "control first" {
				require.NoError(t, c.Update(planned(registry.Plan{Baseline: "all"})))
				require.True(t, r.State().Planned())
				require.NoError(t, r.Pin("job", "tx"))
			}
			late := mylib(t)
			for range 2 {
				require.NoError(t, c.Update(planned(registry.Plan{Baseline: "all", Deny: "job"})))
				require.Equal(t, "job", lib.names())
				require.True(t, r.State().Pinned())
				require.False(t, r.State().Planned())
				late.add(t, r, registry.Override())
				require.Equal(t, "tx", late.names())
			}
			require.NoError(t, r.Pin())
			require.NoError(t, c.Update(planned(registry.Plan{Baseline: "all"})))
			require.Zero(t, lib.gate.Load()|late.gate.Load(), "everything off as well")
			require.Empty(t, r.Pending())

			r.SetSpec("step")
			require.False(t, r.State().Pinned())
			require.Equal(t, "step", lib.names())
			require.NoError(t, c.Update(planned(registry.Plan{Baseline: "agent"})))
			require.Equal(t, "agent", lib.names())
		})
	}
}

func TestUnusedRegistryIsNotPinned(t *testing.T) {
	require.False(t, registry.State{}.Pinned())
	require.False(t, registry.New().State().Pinned())
	require.False(t, registry.New().State().Planned())
	r := registry.New()
	require.NoError(t, r.Pin())
	require.True(t, r.State().Pinned())
}

func TestRecordsOfAControlledRegistryAreHandedOn(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	rec.onLog = func(record) { r.SetSpec("tx") } // no lock is held
	var posted []func()
	c, err := r.Control(nil, func(report func()) { posted = append(posted, report) })
	require.NoError(t, err)
	r.SetSpec("nope")
	require.NoError(t, c.Update(planned(registry.Plan{Baseline: "nope,late"})))
	rec.none(t)
	require.Len(t, posted, 2)
	for _, report := range posted {
		report()
	}
	records := rec.take()
	require.Equal(t, []string{"nope"}, records[0].attrs["pending"])
	require.Equal(t, []string{"late", "nope"}, records[1].attrs["pending"])
	rec.onLog = nil

	require.NoError(t, c.Release(planned(registry.Plan{Baseline: "other"})))
	require.Len(t, posted, 3, "the last too")
	r.SetSpec("again")
	rec.one(t, "these names are not registered")
	require.Len(t, posted, 3)
}

func BenchmarkChangeSeenByAControl(b *testing.B) {
	r := registry.New(registry.Logger(slog.New(slog.DiscardHandler)))
	gym().add(b, r)
	control(b, r, func(registry.Change) {})
	b.ReportAllocs()
	for b.Loop() {
		r.SetSpec("job")
	}
}
