// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

func TestEnabledIsBaselineAndLeasesWithoutDenyUnderTheCeiling(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("default")))
	require.Equal(t, "job,server,http_client,rollout", f.on())

	_, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox,verify,-job", TTL: time.Minute})
	require.NoError(t, err)
	require.Equal(t, "job,server,http_client,rollout,verify,sandbox", f.on(), "an exclusion in a lease takes nothing from the baseline")

	require.NoError(t, f.SetLimits(control.Limits{Deny: "sandbox"}))
	require.Equal(t, "job,server,http_client,rollout,verify", f.on())
	require.NoError(t, f.SetLimits(control.Limits{Deny: "sandbox", Ceiling: "per_rollout,sandbox"}))
	require.Equal(t, "server,http_client,rollout,verify", f.on())
	require.NoError(t, f.SetLimits(control.Limits{Ceiling: " "}))
	require.Equal(t, "job,server,http_client,rollout,verify,sandbox", f.on(), "blank limits limit nothing")
}

func TestLimitsOfOptionsHoldFromTheStart(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("all")), control.Deny("-nothing,job"), control.Ceiling("default"))
	require.Equal(t, "server,http_client,rollout", f.on())
	s := f.State()
	require.Equal(t, "-nothing,job", s.Deny)
	require.Equal(t, "default", s.Ceiling)
}

func TestStrictSpecIsRefusedAndChangesNothing(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	before := f.State().Generation
	var unknown *spangate.ParseError
	require.ErrorAs(t, f.SetBaseline(baseline("job,rollouts")), &unknown)
	require.Equal(t, []spangate.UnknownName{{Name: "rollouts", Offset: 4, Suggestion: "rollout"}}, unknown.Unknown)
	_, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbx", TTL: time.Minute})
	require.ErrorAs(t, err, &unknown)
	require.ErrorIs(t, f.SetBaseline(control.Baseline{Spec: tooLong, AllowPending: true}), spangate.ErrSpecTooLong)
	require.ErrorIs(t, f.Configure(baseline(tooLong)), spangate.ErrSpecTooLong)
	require.ErrorIs(t, f.SetLimits(control.Limits{Deny: tooLong}), spangate.ErrSpecTooLong)
	require.ErrorIs(t, f.SetLimits(control.Limits{Ceiling: tooLong}), spangate.ErrSpecTooLong)
	require.ErrorIs(t, f.SetBaseline(control.Baseline{Spec: "all", Who: strings.Repeat("x", control.MaxOwnerLen+1)}), control.ErrOwner)
	require.ErrorIs(t, f.SetBaseline(control.Baseline{Spec: "all", Who: "a\nb"}), control.ErrOwner)
	require.ErrorIs(t, f.SetBaseline(control.Baseline{Spec: "all", Why: strings.Repeat("x", control.MaxWhyLen+1)}), control.ErrWhy)
	require.ErrorIs(t, f.ResetBaseline("me", "\xff"), control.ErrWhy)
	require.ErrorIs(t, f.SetLimits(control.Limits{Who: "\x1b[31m"}), control.ErrOwner)
	require.Equal(t, "job", f.on())
	require.Equal(t, before, f.State().Generation)
	require.Empty(t, f.changes.take())
}

func TestConfigurationKeepsPendingNames(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job,query")))
	require.Equal(t, []string{"query"}, f.State().Pending)
	db := f.addDB(t)
	require.Equal(t, "query", mydb.Format(db.Load()))

	require.NoError(t, f.SetBaseline(control.Baseline{Spec: "layer,tx", AllowPending: true}))
	require.Equal(t, []string{"layer"}, f.State().Pending)
	require.Equal(t, "tx", mydb.Format(db.Load()))
}

func TestResetRestoresTheLastConfiguration(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	require.NoError(t, f.SetBaseline(baseline("all")))
	require.NoError(t, f.ResetBaseline("me", ""))
	require.Equal(t, "job", f.on())

	require.NoError(t, f.Configure(control.Baseline{Spec: "step,late", Who: "file"}))
	require.NoError(t, f.SetBaseline(baseline("all")))
	s := f.State()
	require.Equal(t, "all", s.Baseline.Spec)
	require.Equal(t, control.Baseline{Spec: "step,late", Who: "file", AllowPending: true}, s.Startup)
	f.changes.take()
	require.NoError(t, f.ResetBaseline("me", "enough"))
	require.Equal(t, "step", f.on())
	require.Equal(t, "file", f.State().Baseline.Who)
	change := f.changes.one(t)
	require.Equal(t, "me", change.Who)
	require.Equal(t, "enough", change.Why)
}

func TestBaselineOfStateSetAgainIsTheSameIntent(t *testing.T) {
	for _, b := range []control.Baseline{
		{Spec: "", Who: "a"}, {Spec: "all"}, {Spec: "-all"}, {Spec: " Default ,, -JOB", Why: "w"}, {Spec: "all,layer,-query", AllowPending: true},
	} {
		f := newFixture(t)
		require.NoError(t, f.SetBaseline(b))
		before := f.State()
		require.NoError(t, f.SetBaseline(baseline("step")))
		require.NoError(t, f.SetBaseline(before.Baseline))
		after := f.State()
		require.Equal(t, before.Baseline, after.Baseline)
		require.Equal(t, before.Enabled, after.Enabled)
		require.Equal(t, before.Pending, after.Pending)
		f.addDB(t)
		enabled, pending := f.registry.Resolve(b.Spec)
		require.Equal(t, enabled, f.State().Enabled)
		require.Equal(t, pending, f.State().Pending)
	}
}

func TestNewRefusesBadArguments(t *testing.T) {
	_, err := control.New(nil)
	require.ErrorIs(t, err, registry.ErrNilRegistry)
	var e *control.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, err.Error(), "spangate/control: new: nil registry: pass the one")

	r := registry.New()
	r.SetSpec("job")
	before := r.State()
	for name, opt := range map[string]control.Option{
		"MaxLeases(0)": control.MaxLeases(0), "MaxTTL(0s)": control.MaxTTL(0), "MaxTTL(-1s)": control.MaxTTL(-time.Second),
	} {
		_, err := control.New(r, opt)
		require.ErrorAs(t, err, &e)
		require.Contains(t, err.Error(), name)
	}
	_, err = control.New(r, control.StartupBaseline(control.Baseline{Who: "\n"}))
	require.ErrorIs(t, err, control.ErrOwner)
	for _, opt := range []control.Option{control.StartupBaseline(baseline(tooLong)), control.Deny(tooLong), control.Ceiling(tooLong)} {
		_, err := control.New(r, opt)
		require.ErrorIs(t, err, spangate.ErrSpecTooLong)
	}
	require.Equal(t, before, r.State())
	_, err = control.New(r, control.MaxLeases(1), control.MaxTTL(1))
	require.NoError(t, err, "the least that there can be")
}

func TestCloseRestoresTheBaselineAndRefusesChanges(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")), control.Deny("step"))
	require.NoError(t, f.SetBaseline(baseline("job,server,step")))
	l, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "all", TTL: time.Hour})
	require.NoError(t, err)
	f.changes.take()

	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.Equal(t, "job,server", f.on())
	require.Equal(t, control.KindClose, f.changes.one(t).Kind)
	s := f.State()
	require.Empty(t, s.Leases)
	require.Equal(t, []string{"job", "server"}, s.Enabled)

	_, err = f.Lease(control.LeaseRequest{Owner: "me", Spec: "all", TTL: time.Hour})
	for _, err := range []error{err, l.Release(), l.Renew(time.Minute), f.SetBaseline(baseline("all")), f.Configure(baseline("all")), f.ResetBaseline("", ""), f.SetLimits(control.Limits{})} {
		require.ErrorIs(t, err, control.ErrClosed)
	}
	f.registry.SetSpec("sandbox") // no controller sees it
	require.Equal(t, "sandbox", f.on())
	require.Empty(t, f.changes.take())
	require.Equal(t, s.Generation, f.State().Generation)
}

func TestSpecSetOnTheRegistryHoldsUntilTheNextChange(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	f.registry.SetSpec("sandbox")
	change := f.changes.one(t)
	require.Equal(t, control.KindRegistry, change.Kind)
	require.Equal(t, []string{"job"}, change.Old)
	require.Equal(t, []string{"sandbox"}, change.New)
	s := f.State()
	require.Equal(t, "job", s.Baseline.Spec, "the intent")
	require.Equal(t, []string{"sandbox"}, s.Enabled, "what is on")
	for _, g := range s.Groups {
		require.Equal(t, g.Name == "sandbox" || g.Name == "job", g.Overridden, g.Name)
	}

	l, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "step", TTL: time.Hour})
	require.NoError(t, err)
	require.Equal(t, "job,step", f.on())
	f.registry.SetSpec("")
	require.Empty(t, f.on())
	require.NoError(t, l.Release())
	require.Equal(t, "job", f.on())
}

func TestPinOfTheRegistryHoldsAgainstTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.StartupBaseline(baseline("job")))
		require.NoError(t, f.registry.Pin("sandbox"))
		require.Equal(t, "sandbox", f.on())
		f.lease(t, "me", "all", time.Minute)
		require.NoError(t, f.SetBaseline(baseline("step")))
		require.NoError(t, f.SetLimits(control.Limits{Deny: "sandbox"}))
		require.Equal(t, "sandbox", f.on())
		for _, change := range f.changes.take() {
			require.Equal(t, []string{"sandbox"}, change.New)
		}
		s := f.State()
		require.Equal(t, "step", s.Baseline.Spec, "the intent")
		require.Equal(t, []string{"sandbox"}, s.Enabled, "what is on")
		require.True(t, f.registry.State().Pinned())

		sleep(time.Minute)
		require.Equal(t, control.KindExpiry, f.changes.one(t).Kind)
		require.Equal(t, "sandbox", f.on())
		require.NoError(t, f.Controller.Close())
		c, err := control.New(f.registry, control.StartupBaseline(baseline("all")))
		require.NoError(t, err)
		require.Equal(t, "sandbox", f.on(), "another controller changes nothing either")

		f.registry.SetSpec("verify")
		require.Equal(t, "verify", f.on())
		require.NoError(t, c.SetLimits(control.Limits{Ceiling: "agent"}))
		require.Equal(t, "agent", f.on())
		require.NoError(t, c.Close())
	})
}

func TestRegistrationsAreChanges(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("all")))
	gate := f.addDB(t)
	change := f.changes.one(t)
	require.Equal(t, control.KindNamespaces, change.Kind)
	require.Equal(t, "mydb registered", change.Why)
	require.Equal(t, f.registry.Groups(), change.New, "all of them")
	require.Equal(t, minus(f.registry.Groups(), "query", "tx"), change.Old)
	require.Equal(t, mydb.All(), gate.Load())

	require.NoError(t, f.registry.Register(mydb, gate, registry.Override()))
	require.Equal(t, "mydb replaced", f.changes.one(t).Why)
	require.NoError(t, f.registry.Unregister("mydb"))
	require.Equal(t, "mydb unregistered", f.changes.one(t).Why)
	require.Zero(t, gate.Load())
}

// TestConcurrentChangesShowOneGenerationAtATime runs concurrent writers of every kind. Their specs
// are such that no generation has the word of a change that is half made.
func TestConcurrentChangesShowOneGenerationAtATime(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job,server")), control.MaxLeases(4))
	words := map[spangate.Mask]bool{}
	for _, base := range []string{"job,server", "step,forward_backward"} {
		for leased := range 4 {
			word := spangate.MustParse(base)
			if leased&1 != 0 {
				word |= spangate.MustParse("verify,agent")
			}
			if leased&2 != 0 {
				word |= spangate.MustParse("model_call,sandbox")
			}
			words[word] = true
		}
	}
	var done atomic.Bool
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for !done.Load() {
			if word := f.gate.Load(); !words[word] {
				t.Errorf("the gate shows %s", spangate.Gym.Format(word))
				return
			}
		}
	})
	readers.Go(func() {
		for !done.Load() {
			s := f.State()
			on := map[string]bool{}
			for _, g := range s.Groups {
				if g.On {
					on[g.Name] = true
				}
				assert.Equal(t, g.On, g.Baseline || len(g.Leases) > 0, "%s: two generations in one state", g.Name)
			}
			assert.Len(t, s.Enabled, len(on))
			assert.Equal(t, s.Generation, s.Changes[0].Generation)
			assert.Equal(t, s.Enabled, s.Changes[0].New)
		}
	})
	for i := range 4 {
		writers.Go(func() {
			for range 200 {
				l, err := f.Lease(control.LeaseRequest{Owner: "w", Spec: []string{"verify,agent", "model_call,sandbox"}[i%2], TTL: time.Hour})
				if err != nil {
					assert.ErrorIs(t, err, control.ErrTooManyLeases)
					continue
				}
				assert.NoError(t, l.Renew(time.Minute))
				assert.NoError(t, l.Release())
			}
		})
		writers.Go(func() {
			for j := range 200 {
				assert.NoError(t, f.SetBaseline(baseline([]string{"job,server", "step,forward_backward"}[j%2])))
			}
		})
	}
	writers.Go(func() {
		for range 200 {
			assert.NoError(t, f.registry.Register(mydb, new(spangate.Gate), registry.Override()))
			assert.NoError(t, f.registry.Unregister("mydb"))
		}
	})
	writers.Wait()
	done.Store(true)
	readers.Wait()
	require.Empty(t, f.State().Leases)

	// The log has every change once and in order: each begins with the set that the last one made.
	log := f.changes.take()
	for i, change := range log[1:] {
		require.Equal(t, log[i].New, change.Old)
	}
	require.Equal(t, f.State().Generation, log[len(log)-1].Generation)
}

// minus returns names without some of them.
func minus(names []string, without ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(without, name) })
}

func TestCatalogAndWatchedFileHoldFromNewToClose(t *testing.T) {
	r, gate := registry.New(), new(spangate.Gate)
	path := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, os.WriteFile(path, []byte("all,-evaluate\n"), 0o600))
	lens := control.Catalog(spangate.Lens, gate)
	for _, refused := range []control.Option{
		control.Watch("", nil), control.Watch(path, control.Interval(0)), control.MaxLeases(0), control.Catalog(nil, gate),
		control.Catalog(spangate.Gym, nil), control.Catalog(spangate.Lens, new(spangate.Gate)),
	} {
		_, err := control.New(r, lens, refused)
		require.Error(t, err)
		require.EqualValues(t, 1, r.State().Generation())
	}
	c, err := control.New(r, lens, control.Watch(path, control.Interval(time.Millisecond)))
	require.NoError(t, err)
	require.True(t, gate.Load().HasAll(spangate.BitJob))
	require.False(t, gate.Load().HasAny(spangate.BitEvaluate))
	require.NoError(t, os.WriteFile(path, []byte("evaluate\n"), 0o600))
	require.Eventually(t, func() bool { return gate.Load() == spangate.BitEvaluate }, time.Minute, time.Millisecond)
	_, err = control.New(r, control.Catalog(spangate.Gym, new(spangate.Gate)))
	require.ErrorIs(t, err, control.ErrControlled)
	require.NoError(t, c.Close())
	require.Empty(t, r.Namespaces())
	require.Zero(t, gate.Load())
	require.NoError(t, registry.New().Register(spangate.Lens, gate), "the gate is free")
}
