// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/registry"
)

func TestNoOtherChangeComesBetweenBeginAndCommit(t *testing.T) {
	r := registry.New()
	c := attach(t, r, ignore)
	const writers, changes = 8, 100
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for range changes {
				if i == 0 {
					r.SetSpec("job")
					continue
				}
				now, ok := c.Begin()
				assert.True(t, ok)
				assert.Equal(t, now.Number(), r.State().Generation())
				next := c.Commit(plan.Plan{}, plan.Cause{})
				assert.Equal(t, now.Number()+1, next.Number())
				assert.Equal(t, next.Number(), r.State().Generation())
				c.End()
			}
		})
	}
	all.Wait()
	require.Equal(t, new(registry.Registry).State().Generation()+writers*changes, r.State().Generation())
}

func TestRefusedChangeMakesNoGeneration(t *testing.T) {
	r := registry.New()
	r.SetSpec("job")
	c := attach(t, r, func(plan.Generation) { t.Error("no change") })
	before := r.State()
	_, ok := c.Begin()
	require.True(t, ok)
	c.End()
	require.Panics(t, func() {
		_, _ = c.Begin()
		defer c.End()
		panic("between Begin and Commit")
	})
	require.Error(t, r.Pin("all"))
	require.Error(t, r.Unregister("unknown"))
	require.Error(t, r.Register(nil, nil))
	require.Equal(t, before, r.State())
	_, ok = c.Begin()
	require.True(t, ok, "it has not been released, and no lock is held")
	c.Release()
	c.End()
	require.Equal(t, before, r.State())
}

// TestGenerationCarriesItsCause has every operation that changes a registry. The observer gets
// the registry's own, Commit returns the others.
func TestGenerationCarriesItsCause(t *testing.T) {
	r := registry.New()
	lib := gym()
	var made []plan.Generation
	observed := 0
	check := func(g plan.Generation) {
		assert.Equal(t, g.Number(), r.State().Generation(), "the state shows it")
		if len(g.Groups()) > 0 {
			assert.Equal(t, lib.names(), spangate.Gym.Format(mask(g.Enabled())), "the gates show it")
		}
		made = append(made, g)
	}
	c := attach(t, r, func(g plan.Generation) { observed++; check(g) })
	commit := func(p plan.Plan, by plan.Cause) func() error {
		return func() error {
			_, ok := c.Begin()
			require.True(t, ok)
			defer c.End()
			before := observed
			check(c.Commit(p, by))
			require.Equal(t, before, observed, "the observer is not called")
			return nil
		}
	}
	first := r.State().Generation()
	cause := plan.Cause{Kind: "lease", Who: "operator", Why: "slow"}
	for _, do := range []func() error{
		func() error { r.SetSpec("job"); return nil },
		func() error { return r.Register(lib.catalog, lib.gate) },
		commit(plan.Plan{Baseline: "agent"}, cause),
		func() error { return r.Register(lib.catalog, lib.gate, registry.Override()) },
		func() error { return r.Pin("step") },
		commit(plan.Plan{Baseline: "all"}, plan.Cause{}),
		func() error { return r.Unregister(" NEMO_GYM ") },
		commit(plan.Plan{}, plan.Cause{Why: "last"}),
	} {
		require.NoError(t, do())
	}
	require.Equal(t, 5, observed)
	_, ok := c.Begin()
	require.True(t, ok)
	c.Release()
	c.End()
	r.SetSpec("") // no longer observed

	type entry struct {
		plan.Cause
		enabled []string
	}
	var got []entry
	for i, g := range made {
		require.Equal(t, first+uint64(i)+1, g.Number())
		got = append(got, entry{g.Cause(), g.Enabled()})
	}
	require.Equal(t, []entry{
		{plan.Cause{Kind: plan.KindRegistry, Who: "registry", Why: "SetSpec was called on the registry itself"}, []string{}},
		{plan.Cause{Kind: plan.KindNamespaces, Who: "registry", Why: "nemo_gym registered"}, []string{"job"}},
		{cause, []string{"agent"}},
		{plan.Cause{Kind: plan.KindNamespaces, Who: "registry", Why: "nemo_gym replaced"}, []string{"agent"}},
		{plan.Cause{Kind: plan.KindRegistry, Who: "registry", Why: "Pin was called on the registry itself; it holds until SetSpec"}, []string{"step"}},
		{plan.Cause{}, []string{"step"}},
		{plan.Cause{Kind: plan.KindNamespaces, Who: "registry", Why: "nemo_gym unregistered"}, []string{}},
		{plan.Cause{Why: "last"}, []string{}},
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
	first := attach(t, r, func(plan.Generation) { t.Error("it changes nothing") })
	before := r.State()
	_, _, err := plan.Attach(r, nil, ignore)
	require.ErrorIs(t, err, plan.ErrControlled)
	_, ok := first.Begin()
	require.True(t, ok)
	first.Release()
	first.End()
	require.Equal(t, before, r.State())

	second := attach(t, r, ignore)
	commit(t, second, plan.Plan{Baseline: "job"}, plan.Cause{})
	before = r.State()
	_, ok = first.Begin()
	require.False(t, ok, "first has been released")
	require.Equal(t, before, r.State())
	_, _, err = plan.Attach(r, nil, ignore)
	require.ErrorIs(t, err, plan.ErrControlled)
	_, ok = second.Begin()
	require.True(t, ok)
	second.Commit(plan.Plan{}, plan.Cause{})
	second.Release()
	second.End()
	attach(t, r, ignore)
}

func TestConcurrentAttachGivesOneControl(t *testing.T) {
	for range 100 {
		r := registry.New()
		var given atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				c, _, err := plan.Attach(r, nil, ignore)
				if err != nil {
					assert.ErrorIs(t, err, plan.ErrControlled)
					return
				}
				given.Add(1)
				c.Commit(plan.Plan{}, plan.Cause{})
				c.End()
			})
		}
		all.Wait()
		require.EqualValues(t, 1, given.Load())
	}
}

func TestPanicOfAnObserverLeavesGatesAndStateInAgreement(t *testing.T) {
	r, rec := recorded()
	lib := gym()
	attach(t, r, func(plan.Generation) { panic("observer") })
	for _, change := range []func(){
		func() { _ = r.Register(lib.catalog, lib.gate) },
		func() { r.SetSpec("job,step") },
		func() { _ = r.Pin("agent") },
		func() { r.SetSpec("") },
		func() { r.SetSpec("sandbox,nope") },
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
}

func TestPinHoldsWhileAControlCommits(t *testing.T) {
	for _, first := range []string{"pin first", "control first"} {
		t.Run(first, func(t *testing.T) {
			r := registry.New()
			lib := gym().add(t, r)
			if first == "pin first" {
				require.NoError(t, r.Pin("job", "tx"))
			}
			c := attach(t, r, ignore)
			require.Equal(t, first == "pin first", r.State().Pinned())
			if first == "control first" {
				commit(t, c, plan.Plan{Baseline: "all"}, plan.Cause{})
				require.False(t, r.State().Pinned())
				require.NoError(t, r.Pin("job", "tx"))
			}
			late := mylib(t)
			for range 2 {
				commit(t, c, plan.Plan{Baseline: "all", Deny: "job"}, plan.Cause{})
				require.Equal(t, "job", lib.names())
				require.True(t, r.State().Pinned())
				late.add(t, r, registry.Override())
				require.Equal(t, "tx", late.names())
			}
			require.NoError(t, r.Pin())
			commit(t, c, plan.Plan{Baseline: "all"}, plan.Cause{})
			require.Zero(t, lib.gate.Load()|late.gate.Load(), "everything off as well")
			require.Empty(t, r.Pending())

			r.SetSpec("step")
			require.False(t, r.State().Pinned())
			require.Equal(t, "step", lib.names())
			commit(t, c, plan.Plan{Baseline: "agent"}, plan.Cause{})
			require.Equal(t, "agent", lib.names())
		})
	}
}

func TestUnusedRegistryIsNotPinned(t *testing.T) {
	require.False(t, registry.State{}.Pinned())
	require.False(t, registry.New().State().Pinned())
	require.False(t, planned(t, registry.New()))
	r := registry.New()
	require.NoError(t, r.Pin())
	require.True(t, r.State().Pinned())
	require.False(t, planned(t, r))
}

func TestControlTakesTheRecordsOfTheRegistry(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	rec.onLog = func(record) { r.SetSpec("tx") } // no lock is held
	var taken []func()
	var c plan.Control
	c = attach(t, r, func(plan.Generation) { taken = append(taken, c.Records()...) })
	change := func(p plan.Plan, release bool) {
		_, ok := c.Begin()
		require.True(t, ok)
		defer c.End()
		c.Commit(p, plan.Cause{})
		taken = append(taken, c.Records()...)
		if release {
			c.Release()
		}
	}
	r.SetSpec("nope")
	change(plan.Plan{Baseline: "nope,late"}, false)
	rec.none(t)
	require.Len(t, taken, 2)
	for _, log := range taken {
		log()
	}
	records := rec.take()
	require.Equal(t, []string{"nope"}, records[0].attrs["pending"])
	require.Equal(t, []string{"late", "nope"}, records[1].attrs["pending"])
	rec.onLog = nil

	change(plan.Plan{Baseline: "other"}, true)
	require.Len(t, taken, 3, "the last too")
	r.SetSpec("again")
	rec.one(t, "these names are not registered")
	require.Len(t, taken, 3)

	c, _, err := plan.Attach(r, nil, ignore)
	require.NoError(t, err)
	c.Commit(plan.Plan{Baseline: "not_taken"}, plan.Cause{})
	c.Release()
	c.End()
	_, ok := c.Begin()
	require.False(t, ok)
	rec.none(t)
	require.NoError(t, r.Pin())
	require.Equal(t, []string{"not_taken"}, rec.one(t, "these names are not registered")["pending"], "by the next change of the registry itself")
}

func TestSharedNamesCauseNoWarningAndReplaceNoNamespace(t *testing.T) {
	r, rec := recorded()
	gym().add(t, r)
	require.NoError(t, r.Register(spangate.Lens, new(spangate.Gate), registry.Shared()))
	rec.none(t)
	require.ErrorIs(t, r.Register(spangate.Lens, new(spangate.Gate), registry.Shared()), registry.ErrNamespaceTaken)
}

func BenchmarkChangeSeenByAControl(b *testing.B) {
	r := registry.New(registry.Logger(slog.New(slog.DiscardHandler)))
	gym().add(b, r)
	attach(b, r, ignore)
	b.ReportAllocs()
	for b.Loop() {
		r.SetSpec("job")
	}
}
