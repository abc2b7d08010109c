// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"errors"
	"fmt"
	"strconv"
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
	"github.com/spangate/spangate/control/wire"
)

func (f *fixture) lease(t testing.TB, owner, spec string, ttl time.Duration) control.Lease {
	t.Helper()
	l, err := f.Lease(control.LeaseRequest{Owner: owner, Spec: spec, TTL: ttl})
	require.NoError(t, err)
	return l
}

// sleep lets d pass, and waits until all that is due by then is done.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.StartupBaseline(baseline("job")))
		l := f.lease(t, "me", "sandbox", 5*time.Minute)
		require.Equal(t, "job,sandbox", f.on())
		sleep(5*time.Minute - 1)
		require.Equal(t, "job,sandbox", f.on())
		f.changes.take()
		sleep(1)
		require.Equal(t, "job", f.on())

		change := f.changes.one(t)
		require.Equal(t, control.KindExpiry, change.Kind)
		require.Equal(t, "me", change.Who)
		require.Equal(t, "lease "+l.ID()+" ended", change.Why)
		require.Equal(t, []string{"job", "sandbox"}, change.Old)
		require.Equal(t, []string{"job"}, change.New)
		require.ErrorIs(t, l.Release(), control.ErrNoLease)
		require.ErrorIs(t, l.Renew(time.Minute), control.ErrNoLease)
	})
}

func TestLeaseCanBeExtendedAndShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		l := f.lease(t, "me", "sandbox", time.Minute)
		sleep(59 * time.Second)
		require.NoError(t, l.Renew(time.Hour))
		sleep(59 * time.Minute)
		require.Equal(t, "sandbox", f.on())
		require.NoError(t, f.Renew(l.ID(), time.Second))
		sleep(time.Second)
		require.Empty(t, f.on())
	})
}

func TestReleaseTakesNothingFromOtherOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.StartupBaseline(baseline("job")))
		mine := f.lease(t, "me", "job,sandbox,verify", time.Minute)
		hers := f.lease(t, "her", "sandbox,agent", time.Hour)
		again := f.lease(t, "me", "job,sandbox,verify", time.Hour)
		require.NoError(t, mine.Release())
		require.Equal(t, "job,verify,agent,sandbox", f.on())
		require.ErrorIs(t, f.Release(mine.ID()), control.ErrNoLease)
		require.NoError(t, f.Release(again.ID()))
		require.Equal(t, "job,agent,sandbox", f.on())
		sleep(time.Minute)
		require.Equal(t, "job,agent,sandbox", f.on())
		require.NoError(t, hers.Release())
		require.Equal(t, "job", f.on())
	})
}

func TestLeaseSurvivesABaselineChangeAndALateRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.StartupBaseline(baseline("job")))
		_, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox,query", TTL: time.Minute, AllowPending: true})
		require.NoError(t, err)
		require.NoError(t, f.SetBaseline(baseline("")))
		require.Equal(t, "sandbox", f.on())
		require.NoError(t, f.ResetBaseline("me", ""))
		require.Equal(t, "job,sandbox", f.on())
		db := f.addDB(t)
		require.Equal(t, "query", mydb.Format(db.Load()))
		sleep(time.Minute)
		require.Zero(t, db.Load())
		require.Equal(t, "job", f.on())
	})
}

func TestLeaseRequestsHaveBounds(t *testing.T) {
	f := newFixture(t, control.MaxTTL(time.Hour), control.MaxLeases(2))
	for _, c := range []struct {
		req  control.LeaseRequest
		want error
	}{
		{control.LeaseRequest{Owner: "", TTL: 1, Spec: "job"}, control.ErrOwner},
		{control.LeaseRequest{Owner: " \u3000", TTL: 1, Spec: "job"}, control.ErrOwner},
		{control.LeaseRequest{Owner: strings.Repeat("o", control.MaxOwnerLen+1), TTL: 1}, control.ErrOwner},
		{control.LeaseRequest{Owner: "\xff", TTL: 1}, control.ErrOwner},
		{control.LeaseRequest{Owner: "me", TTL: 1, Spec: "job", Why: strings.Repeat("w", control.MaxWhyLen+1)}, control.ErrWhy},
		{control.LeaseRequest{Owner: "me", TTL: 0}, control.ErrTTL},
		{control.LeaseRequest{Owner: "me", TTL: -time.Hour}, control.ErrTTL},
		{control.LeaseRequest{Owner: "me", TTL: time.Hour + 1}, control.ErrTTL},
	} {
		_, err := f.Lease(c.req)
		require.ErrorIs(t, err, c.want)
	}
	l := f.lease(t, strings.Repeat("o", control.MaxOwnerLen), "job", time.Hour)
	f.lease(t, "me", "job", 1)
	require.ErrorIs(t, l.Renew(0), control.ErrTTL)
	require.ErrorIs(t, l.Renew(2*time.Hour), control.ErrTTL)
	require.ErrorIs(t, f.Release("nope"), control.ErrNoLease)
}

func TestNumberOfLeasesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.MaxLeases(2))
		f.lease(t, "me", "job", time.Minute)
		l := f.lease(t, "me", "step", time.Hour)
		_, err := f.Lease(control.LeaseRequest{Owner: "you", Spec: "all", TTL: time.Hour})
		require.ErrorIs(t, err, control.ErrTooManyLeases)
		require.Equal(t, "job,step", f.on())
		require.NoError(t, l.Renew(time.Hour), "renewing takes no room")
		sleep(time.Minute)
		f.lease(t, "you", "all", time.Hour)
	})
}

func TestThousandsOfLeasesEndEachAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const n = 5_000
		for i := range n {
			f.lease(t, fmt.Sprint("owner", i%7), "sandbox", time.Duration(1+i*7919%n)*time.Second)
			if i%1000 == 999 {
				require.Len(t, f.changes.take(), 1000) // or the queue may be full
			}
		}
		for i := range 10 {
			require.Len(t, f.State().Leases, n-i*n/10)
			sleep(n / 10 * time.Second)
		}
		require.Empty(t, f.on())
		require.Empty(t, f.State().Leases)
		ended := 0
		for _, change := range f.changes.take() {
			if change.Kind == control.KindExpiry {
				ended++
			}
		}
		require.Equal(t, n, ended)
	})
}

func TestLeasesThatEndTogetherAreOneChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for i := range 100 {
			f.lease(t, fmt.Sprint("owner", i), "sandbox", time.Minute)
		}
		f.changes.take()
		sleep(time.Minute)
		change := f.changes.one(t)
		require.Equal(t, "100 leases ended", change.Why)
		who := strings.Split(change.Who, ", ")
		require.Len(t, who, 5)
		require.Equal(t, "others", who[4])

		for i := range 8 {
			f.lease(t, fmt.Sprint("owner", i%4), "sandbox", time.Minute)
		}
		f.changes.take()
		sleep(time.Minute)
		require.ElementsMatch(t, []string{"owner0", "owner1", "owner2", "owner3"}, strings.Split(f.changes.one(t).Who, ", "))
	})
}

// TestExpiryWhileTheLockIsHeld uses the real clock, since the clock of a synctest bubble stands
// still while a goroutine waits for a lock. It passes on a slow machine too.
func TestExpiryWhileTheLockIsHeld(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	kept := f.lease(t, "me", "verify", time.Hour)
	due := f.lease(t, "me", "sandbox", time.Millisecond)
	control.WithLock(f.Controller, func() { time.Sleep(10 * time.Millisecond) }) // the timer fires meanwhile
	require.NoError(t, f.SetBaseline(baseline("step")))
	require.ErrorIs(t, due.Renew(time.Minute), control.ErrNoLease)
	require.Eventually(t, func() bool { return f.on() == "step,verify" }, time.Minute, time.Millisecond)
	require.NoError(t, kept.Release())
	require.Equal(t, "step", f.on())
}

// TestChangeBeforeTheTimerFirstEndsTheLeasesThatAreOver pins that a lease that is over can't be renewed
// and takes no room, and that its end is a change of its own.
func TestChangeBeforeTheTimerFirstEndsTheLeasesThatAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.MaxLeases(1))
		l := f.lease(t, "me", "sandbox", time.Second)
		f.changes.take()
		control.StopTimer(f.Controller)
		time.Sleep(time.Second)
		second := f.lease(t, "you", "job", time.Second)
		require.Equal(t, "job", f.on())
		changes := f.changes.take()
		require.Len(t, changes, 2)
		require.Equal(t, control.KindExpiry, changes[0].Kind)
		require.Equal(t, "lease "+l.ID()+" ended", changes[0].Why)
		require.Equal(t, control.KindLease, changes[1].Kind)

		control.StopTimer(f.Controller)
		time.Sleep(time.Second)
		require.ErrorIs(t, second.Renew(time.Hour), control.ErrNoLease)
		require.Empty(t, f.on())
	})
}

func TestLeaseRenewedJustInTimeStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		l := f.lease(t, "me", "sandbox", time.Second)
		for range 100 {
			time.Sleep(time.Second - 1)
			require.NoError(t, l.Renew(time.Second))
		}
		require.Equal(t, "sandbox", f.on())
		sleep(time.Second)
		require.Empty(t, f.on())
	})
}

func TestCallbackMayCallTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f atomic.Pointer[fixture]
		var calls []string
		made := newFixture(t, control.OnChange(func(change control.Change) {
			calls = append(calls, string(change.Kind))
			f := f.Load()
			if f == nil {
				return
			}
			f.State()
			switch change.Kind {
			case control.KindExpiry:
				f.lease(t, "callback", "verify", time.Minute)
				assert.NoError(t, f.SetBaseline(baseline("step")))
			case control.KindLease:
				if change.Who == "callback" {
					assert.NoError(t, f.Close())
				}
			}
		}))
		f.Store(made)
		made.lease(t, "me", "sandbox", time.Minute)
		sleep(time.Minute)
		require.True(t, control.Drain(made.Controller, time.Minute))
		require.Equal(t, []string{"baseline", "lease", "expiry", "lease", "baseline", "close"}, calls)
		require.Equal(t, "step", made.on())
	})
}

func TestLeasesOfManyGoroutines(t *testing.T) {
	f := newFixture(t)
	var owners sync.WaitGroup
	for i := range 16 {
		owners.Go(func() {
			for range 50 {
				l, err := f.Lease(control.LeaseRequest{Owner: fmt.Sprint(i), Spec: "sandbox", TTL: time.Duration(1+i%3) * time.Millisecond})
				if assert.NoError(t, err) && i%2 == 0 {
					_ = l.Release() // unless it has ended already
				}
			}
		})
	}
	owners.Wait()
	require.Eventually(t, func() bool { return f.gate.Load() == 0 && len(f.State().Leases) == 0 }, time.Minute, time.Millisecond)
}

func TestLeaseQuietsTheBaselineOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.StartupBaseline(baseline("job,sandbox,verify")))
		adds := f.lease(t, "her", "verify,agent", 2*time.Hour)
		quiet := func(owner, spec, quiet string, ttl time.Duration) control.Lease {
			l, err := f.Lease(control.LeaseRequest{Owner: owner, Spec: spec, Quiet: quiet, TTL: ttl})
			require.NoError(t, err)
			return l
		}
		mine := quiet("me", "", "sandbox,verify,agent,step", time.Minute)
		require.Equal(t, "job,verify,agent", f.on(), "not what another lease adds")
		both := quiet("you", "sandbox,optimizer", "all,-job", time.Hour)
		require.Equal(t, "job,optimizer,verify,agent,sandbox", f.on(), "nor what the lease itself adds")

		s := f.State()
		groups := map[string]control.Group{}
		for _, g := range s.Groups {
			groups[g.Name] = g
		}
		require.Equal(t, []string{mine.ID(), both.ID()}, groups["sandbox"].Quiet)
		require.Equal(t, []string{both.ID()}, groups["sandbox"].Leases)
		require.True(t, groups["sandbox"].Baseline)
		require.Equal(t, []string{mine.ID(), both.ID()}, groups["step"].Quiet, "although the baseline does not have it")
		require.Empty(t, groups["job"].Quiet)
		require.Equal(t, "sandbox,verify,agent,step", s.Leases[0].Quiet)
		require.Empty(t, s.Leases[0].Spec)
		require.Empty(t, s.Leases[0].Groups)
		require.Equal(t, []string{"agent", "sandbox", "step", "verify"}, s.Leases[0].Quieted)
		require.Equal(t, []string{"optimizer", "sandbox"}, s.Leases[1].Groups)
		require.Len(t, s.Leases[1].Quieted, 14)

		require.NoError(t, adds.Release())
		require.Equal(t, "job,optimizer,sandbox", f.on())
		require.NoError(t, f.SetBaseline(baseline("verify,step,job")))
		require.Equal(t, "job,optimizer,sandbox", f.on(), "another baseline is as quiet")
		require.NoError(t, both.Release())
		require.Equal(t, "job", f.on())
		sleep(time.Minute)
		require.Equal(t, "job,step,verify", f.on(), "it comes back by itself")
		require.Equal(t, "lease "+mine.ID()+" ended", f.State().Changes[0].Why)
	})
}

func TestQuietIsAsStrictAsTheSpec(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("query,tx,job")))
	req := control.LeaseRequest{Owner: "me", Quiet: "job, quary", TTL: time.Hour}
	before := f.State().Generation
	_, err := f.Lease(req)
	var unknown *spangate.ParseError
	require.ErrorAs(t, err, &unknown)
	require.ErrorIs(t, err, spangate.ErrUnknownName)
	require.Equal(t, []spangate.UnknownName{{Name: "quary", Offset: 5}}, unknown.Unknown)
	require.ErrorContains(t, err, "spangate/control: quiet: ")
	req.Quiet = tooLong
	_, err = f.Lease(req)
	require.ErrorIs(t, err, spangate.ErrSpecTooLong)
	require.Equal(t, before, f.State().Generation)

	req.Quiet, req.AllowPending = "query,verify", true
	l, err := f.Lease(req)
	require.NoError(t, err)
	require.Equal(t, []string{"query"}, f.State().Leases[0].Pending)
	db := f.addDB(t)
	require.Equal(t, "tx", mydb.Format(db.Load()))
	require.NoError(t, l.Release())
	require.Equal(t, "query,tx", mydb.Format(db.Load()))
}

func TestFieldOfALeaseWithoutEffect(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	require.Equal(t, "quiet", e.form("POST", "/leases", "quiet=-job&owner=me&ttl=1h").refused(400, wire.CodeBadField).Field)
	require.Equal(t, "spec", e.form("POST", "/leases", "spec=-job&owner=me&ttl=1h").refused(400, wire.CodeBadField).Field)
}

func TestLeaseListsQuietedGroupsThatAreStillOn(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job,step"))), anyone())
	adds := as[wire.Lease](e.form("POST", "/leases", "spec=step&owner=me&ttl=1h"), 201)
	quiets := as[wire.Lease](e.form("POST", "/leases", "quiet=job,step&owner=me&ttl=1h"), 201)
	require.Equal(t, []string{"job", "step"}, quiets.Quieted)
	require.Equal(t, []string{"step"}, quiets.StillOn)
	require.Equal(t, []string{}, adds.StillOn)
	require.Equal(t, "step", e.on())
	as[wire.Lease](e.do("DELETE", "/leases/"+adds.ID, ""), 200)
	require.Equal(t, []string{}, e.State().Leases[0].StillOn)
}

func TestLeaseWithoutEffectIsRefused(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	for _, c := range []struct {
		spec, quiet     string
		strict, lenient bool // whether there is such a lease
	}{
		{"", "", false, false}, {" ", ",", false, false}, {"-all", "", false, false}, {"", "-all", false, false}, {"-job", "-sandbox", false, false},
		{"job,-job", "", false, false}, {"sandbox,-all", "", false, false}, {"job,-default", "", false, false}, {"per_rollout,-all", "all,-ALL", false, false},
		{"job", "", true, true}, {"", "job", true, true}, {"-job", "job", true, true}, {"job", "-all", true, true}, {"all,-job", "", true, true},
		{"late", "", false, true}, {"", "late", false, true}, {"late,-job", "", false, true}, {"LATE,-later", "", false, true}, {"-late", "", false, false},
		{"late,-LATE", "", false, false}, {"late,-all", "", false, false}, {"late,-late,later", "", false, true},
	} {
		for _, allowPending := range []bool{false, true} {
			before := f.State().Generation
			l, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: c.spec, Quiet: c.quiet, TTL: time.Hour, AllowPending: allowPending})
			if want := allowPending && c.lenient || !allowPending && c.strict; want {
				require.NoError(t, err, "%q %q", c.spec, c.quiet)
				require.NoError(t, l.Release())
				continue
			}
			if allowPending && !errors.Is(err, control.ErrSpec) || !allowPending && !errors.Is(err, spangate.ErrUnknownName) {
				require.ErrorIs(t, err, control.ErrNoEffect, "%q %q", c.spec, c.quiet)
			}
			require.Equal(t, before, f.State().Generation)
		}
	}

	// In an empty registry nothing is selected, and all may be later.
	require.NoError(t, f.registry.Unregister("nemo_gym"))
	_, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "all", TTL: time.Hour})
	require.ErrorIs(t, err, control.ErrNoEffect)
	_, err = f.Lease(control.LeaseRequest{Owner: "me", Spec: "all", TTL: time.Hour, AllowPending: true})
	require.NoError(t, err)
}

func TestSizeOfLeasesIsBounded(t *testing.T) {
	f := newFixture(t)
	long := control.LeaseRequest{Owner: "me", Spec: "job" + strings.Repeat(" ", spangate.MaxSpecLen-3), TTL: time.Hour}
	require.Equal(t, 4<<20, control.MaxLeasesLen)
	var last control.Lease
	held := 0
	for ; held+len(long.Owner)+len(long.Spec) <= control.MaxLeasesLen; held += len(long.Owner) + len(long.Spec) {
		var err error
		last, err = f.Lease(long)
		require.NoError(t, err)
	}
	rest := control.LeaseRequest{Owner: "you", Why: "because", TTL: time.Hour}
	room := control.MaxLeasesLen - held - len(rest.Owner) - len(rest.Why)
	rest.Spec = "step" + strings.Repeat(" ", room/2-4)
	rest.Quiet = "step" + strings.Repeat(" ", room-room/2-4)
	before := f.State().Generation
	more := rest
	more.Quiet += " "
	_, err := f.Lease(more)
	require.ErrorIs(t, err, control.ErrTooManyLeases)
	more = rest
	more.Owner += "x"
	_, err = f.Lease(more)
	require.ErrorIs(t, err, control.ErrTooManyLeases)
	require.Equal(t, before, f.State().Generation)
	_, err = f.Lease(rest)
	require.NoError(t, err, "to the last byte")
	newEndpoint(t, f, anyone()).form("POST", "/leases", "spec=job&owner=me&ttl=1h").refused(409, wire.CodeTooManyLeases)
	require.NoError(t, last.Renew(time.Minute), "which takes no room")
	_, err = f.Lease(control.LeaseRequest{Owner: "x", Spec: "job", TTL: time.Hour})
	require.ErrorIs(t, err, control.ErrTooManyLeases)
	require.NoError(t, last.Release())
	_, err = f.Lease(long)
	require.NoError(t, err)
}

func TestMethodsOfTheZeroLeaseFail(t *testing.T) {
	var l control.Lease
	require.Empty(t, l.ID())
	require.ErrorIs(t, l.Renew(time.Minute), control.ErrNoLease)
	require.ErrorIs(t, l.Release(), control.ErrNoLease)
}

func TestEndOfALeaseIsTheSameInEveryRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		time.Sleep(1234567 * time.Nanosecond)
		end := time.Now().Add(time.Minute)
		l := f.lease(t, "me", "job", time.Minute)
		for range 50 {
			s := f.State()
			require.Equal(t, end.UTC().Truncate(time.Millisecond), s.Leases[0].End)
			require.Equal(t, time.Until(end).Round(time.Millisecond), s.Leases[0].Left)
			time.Sleep(777777777)
		}
		require.NoError(t, l.Renew(time.Hour))
		require.Equal(t, time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond), f.State().Leases[0].End)
	})
}

func TestLeaseOfExclusionsAloneSaysThatTheMinusIsAtFault(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("default")))
	for spec, minus := range map[string]bool{"-job": true, " -job , -server,": true, "job,-job": false, "-job,job": false, ",": false} {
		for _, req := range []control.LeaseRequest{{Spec: spec}, {Quiet: spec}} {
			req.Owner, req.TTL = "me", time.Minute
			_, err := f.Lease(req)
			require.ErrorIs(t, err, control.ErrNoEffect, "%q", spec)
			require.Equal(t, minus, strings.Contains(err.Error(), "quiet it by its name, without the '-'"), "%q: %v", spec, err)
			require.Contains(t, err.Error(), strconv.Quote(spec))
		}
	}
}
