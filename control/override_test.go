// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package control_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// A middleware gives the requests of a customer full detail while a lease says so.
func ExampleController_Offer() {
	r := registry.New()
	var gate spangate.Gate
	_ = r.Register(spangate.Gym, &gate)
	c, _ := control.New(r)
	defer c.Close()
	detail := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := c.Offer(r.Context(), func(field string) string {
				switch field {
				case "path":
					return r.URL.Path
				case "customer": // from where the program has authenticated it
					return r.Header.Get("X-Customer")
				}
				return ""
			})
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
	server := httptest.NewServer(detail(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Header.Get("X-Customer"), gate.OnContext(r.Context(), spangate.BitSandbox))
	})))
	defer server.Close()

	_, err := c.Lease(control.LeaseRequest{Owner: "ann", Spec: "all", Match: "customer=42", TTL: 10 * time.Minute})
	if err != nil {
		fmt.Println(err)
	}
	for _, customer := range []string{"41", "42"} {
		request, _ := http.NewRequest("GET", server.URL, nil)
		request.Header.Set("X-Customer", customer)
		if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
		}
	}
	// Output:
	// 41 false
	// 42 true
}

// customer returns the fields of a request of this customer.
func customer(id string) func(string) string {
	return func(field string) string { return map[string]string{"customer": id, "tier": "gold"}[field] }
}

// trace returns a trace ID with this randomness, and with n in its other bytes.
func trace(randomness uint64, n byte) (id [16]byte) {
	binary.BigEndian.PutUint64(id[8:], randomness)
	id[8] = n
	return id
}

const always = 1<<56 - 1 // the randomness of a trace that is in every share

// overridden returns the canonical spec of what o turns on.
func (f *fixture) overridden(o *spangate.Override) string {
	var on spangate.Mask
	for bit := range spangate.Gym.All().Bits() {
		if o.On(&f.gate, bit) {
			on |= bit
		}
	}
	return spangate.Gym.Format(on)
}

func (f *fixture) grant(t testing.TB, req control.LeaseRequest) control.Lease {
	t.Helper()
	req.Owner = "ann"
	if req.TTL == 0 {
		req.TTL = time.Minute
	}
	l, err := f.Lease(req)
	require.NoError(t, err)
	return l
}

func (f *fixture) offer(id string) *spangate.Override {
	return spangate.OverrideFromContext(f.Offer(context.Background(), customer(id)))
}

func token(id, spec string, left time.Duration) spangate.OverrideName {
	return spangate.OverrideName{ID: id, Spec: spec, End: time.Now().Add(left)}
}

func TestDetailActsOnChosenTracesOnly(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	l := f.grant(t, control.LeaseRequest{Spec: "sandbox,job", Match: " customer = 42,tier=gold"})
	require.Equal(t, "job", f.on(), "for all")
	require.Equal(t, "job,sandbox", spangate.Gym.Format(f.gate.Reach()))
	change := f.changes.one(t)
	require.Equal(t, "lease "+l.ID()+" for 1m0s on traces with  customer = 42,tier=gold", change.Why)
	require.Equal(t, change.Old, change.New)

	ctx := f.Offer(context.Background(), customer("42"))
	require.True(t, f.gate.OnContext(ctx, spangate.BitSandbox))
	require.False(t, f.gate.OnContext(ctx, spangate.BitVerify))
	require.False(t, f.gate.On(spangate.BitSandbox))
	require.Equal(t, ctx, f.Offer(ctx, customer("42")), "a trace has one override")
	for _, fields := range []func(string) string{customer("43"), nil, func(string) string { return "42" }, func(string) string { return "" }} {
		require.Equal(t, context.Background(), f.Offer(context.Background(), fields))
	}
	var none context.Context
	require.NotNil(t, spangate.OverrideFromContext(f.Offer(none, customer("42"))))

	s := f.State()
	for _, g := range s.Groups {
		require.Equal(t, g.Name == "sandbox" || g.Name == "job", slices.Contains(g.Details, l.ID()))
		require.Empty(t, g.Leases)
		require.False(t, g.Overridden)
	}
	require.Equal(t, 2, s.Overrides.Live)
	require.Equal(t, []uint64{2, 0, 1}, []uint64{s.Overrides.Chosen, s.Overrides.Received, s.Overrides.Started})
}

func TestShareIsDecidedByTheTrace(t *testing.T) {
	f := newFixture(t)
	f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 0.25})
	limit := uint64(3) << 54
	require.Nil(t, f.Begin(trace(limit-1, 1), ""))
	o := f.Begin(trace(limit, 1), "")
	require.Equal(t, "sandbox", f.overridden(o))
	require.Same(t, o, f.Begin(trace(limit, 1), ""), "the same trace")
	require.NotSame(t, o, f.Begin(trace(limit, 2), ""))
	require.Nil(t, f.Begin(trace(limit, 1), "rv:00000000000000"))
	require.NotNil(t, f.Begin(trace(0, 1), "th:0;rv:ffffffffffffff"))

	n := 0
	for i := range uint64(1024) {
		if f.Begin(trace(i<<46, 0), "") != nil {
			n++
		}
	}
	require.Equal(t, 256, n)
}

func TestTracesThatDifferInTheirFirstBytesHaveOverridesOfTheirOwn(t *testing.T) {
	f := newFixture(t, control.OverrideBudget(control.Budget{SpansPerTrace: 1}))
	l := f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 1})
	for i := range byte(3) {
		o := f.Begin([16]byte{0: i, 15: 7}, "")
		require.Equal(t, l.ID()+"-"+[]string{"AA", "AQ", "Ag"}[i]+"AAAAAAAAAAAAAAAAAABw", o.Name().ID)
		require.True(t, o.On(&f.gate, spangate.BitSandbox))
		require.False(t, o.On(&f.gate, spangate.BitSandbox), "its own budget")
		require.Same(t, o, f.Begin([16]byte{0: i, 15: 7}, ""))
	}
}

func TestDetailsOfOneTraceActTogether(t *testing.T) {
	for name, c := range map[string]struct{ first, second, spec, on string }{
		"others":            {"sandbox", "verify", "sandbox,verify", "verify,sandbox"},
		"harmless excluded": {"sandbox", "default,-job", "sandbox,default,-job", "server,http_client,rollout,sandbox"},
		"the other's":       {"job", "default,-job", "http_client,job,rollout,server", "job,server,http_client,rollout"},
		"pending":           {"sandbox", "verify,nope", "sandbox,verify,nope", "verify,sandbox"},
		"too long":          {"sandbox" + strings.Repeat(",sandbox", 10), "verify" + strings.Repeat(",verify", 5), "sandbox" + strings.Repeat(",sandbox", 10), "verify,sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.grant(t, control.LeaseRequest{Spec: c.first, Share: 0.5, TTL: time.Hour})
			second := f.grant(t, control.LeaseRequest{Spec: c.second, Share: 0.25, TTL: time.Minute, AllowPending: true})
			o := f.Begin(trace(always, 1), "")
			require.Equal(t, c.spec, o.Name().Spec)
			require.Equal(t, c.on, f.overridden(o))
			require.True(t, o.Name().End.Before(time.Now().Add(time.Minute)), "the first end")
			require.NoError(t, second.Release())
			only, _ := spangate.Gym.Resolve(c.first)
			require.Equal(t, spangate.Gym.Format(only), f.overridden(o), "that of the other lease stays")
			require.Equal(t, c.first, f.Begin(trace(3<<54-1, 1), "").Name().Spec, "a trace that is in the larger share only")
		})
	}
	f := newFixture(t)
	f.grant(t, control.LeaseRequest{Spec: "sandbox,verify", Share: 0.5, TTL: time.Hour})
	f.grant(t, control.LeaseRequest{Spec: "verify", Share: 0.25})
	require.True(t, f.Begin(trace(always, 1), "").Name().End.After(time.Now().Add(time.Minute)), "a detail that adds nothing does not end it")

	f = newFixture(t)
	f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 0.5})
	f.grant(t, control.LeaseRequest{Spec: "verify", Share: 0.25, TTL: time.Hour})
	require.True(t, f.Begin(trace(always, 1), "").Name().End.Before(time.Now().Add(time.Minute)), "the first end")

	f = newFixture(t)
	first := f.grant(t, control.LeaseRequest{Spec: "sandbox", Match: "customer=42", TTL: time.Minute})
	f.grant(t, control.LeaseRequest{Spec: "verify", Match: "tier=gold", TTL: time.Hour})
	o := f.offer("42")
	require.Equal(t, "sandbox,verify", o.Name().Spec)
	require.True(t, strings.HasPrefix(o.Name().ID, f.State().Leases[1].ID+"-"))
	require.Equal(t, "verify,sandbox", f.overridden(o))
	require.Equal(t, "verify", f.offer("43").Name().Spec)
	require.NoError(t, first.Release())
	require.Equal(t, "verify", f.overridden(o))
}

func TestLimitsAndPinStandOverRunningOverrides(t *testing.T) {
	f := newFixture(t, control.AdmitOverrides(nil))
	require.Equal(t, spangate.Gym.All(), f.gate.Reach())
	f.grant(t, control.LeaseRequest{Spec: "sandbox,verify", Share: 1})
	own, received := f.Begin(trace(0, 0), ""), f.Admit(token("a", "all,-job", time.Minute))
	require.Equal(t, "verify,sandbox", f.overridden(own))
	require.Equal(t, "all,-job", spangate.OverrideFromContext(spangate.ContextWithOverride(context.Background(), received)).Name().Spec)
	require.NoError(t, f.SetLimits(control.Limits{Deny: "verify", Ceiling: "verify,sandbox,agent"}))
	require.Equal(t, "sandbox", f.overridden(own))
	require.Equal(t, "agent,sandbox", f.overridden(received))
	db := f.addDB(t)
	require.False(t, received.On(db, 1), "the ceiling holds for a namespace that registers later")
	require.NoError(t, f.SetLimits(control.Limits{}))
	require.True(t, received.On(db, 1))
	require.NoError(t, f.registry.Pin("job"))
	require.Empty(t, f.overridden(own))
	require.Empty(t, f.overridden(received))
	require.Zero(t, f.gate.Reach())
	f.registry.SetSpec("job")
	require.Empty(t, f.overridden(received), "until the controller's next change")
	require.NoError(t, f.SetBaseline(baseline("")))
	require.Equal(t, "verify,sandbox", f.overridden(own))
	require.NoError(t, f.Close())
	require.Zero(t, f.gate.Reach()|db.Reach())
	f.gate.SetReach(spangate.Gym.All())
	require.Empty(t, f.overridden(own))
	require.Empty(t, f.overridden(received))
	require.Nil(t, f.Admit(token("b", "all", time.Minute)))
}

func TestOverrideEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.OverrideBudget(control.Budget{Time: 10 * time.Minute}))
		l := f.grant(t, control.LeaseRequest{Spec: "sandbox", Match: "customer=42", TTL: time.Minute})
		ended := f.offer("42")
		require.Equal(t, time.Now().Add(time.Minute).Unix(), ended.Name().End.Unix())
		require.NoError(t, l.Renew(time.Hour))
		longer := f.offer("42")
		require.Equal(t, time.Now().Add(10*time.Minute).Unix(), longer.Name().End.Unix(), "at most the budget's time")
		sleep(time.Minute)
		require.Empty(t, f.overridden(ended), "what was told to other processes holds here")
		require.Equal(t, "sandbox", f.overridden(longer))
		sleep(9 * time.Minute)
		require.Empty(t, f.overridden(longer))
		released := f.offer("42")
		require.NoError(t, l.Release())
		require.Empty(t, f.overridden(released))
		require.Zero(t, f.gate.Reach())
		require.Nil(t, f.offer("42"))
	})
}

func TestBudgetOfSpansHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.OverrideBudget(control.Budget{SpansPerSecond: 50, SpansPerTrace: 80}), control.AdmitOverrides(nil))
		started := func(id string) (n int64) {
			var started atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 30 {
						if f.Admit(token(id, "sandbox", time.Minute)).On(&f.gate, spangate.BitSandbox) {
							started.Add(1)
						}
					}
				})
			}
			all.Wait()
			return started.Load()
		}
		require.EqualValues(t, 50, started("a"))
		require.Zero(t, started("b"), "the second is used up")
		sleep(time.Second)
		require.EqualValues(t, 30, started("a"), "of this trace")
		require.EqualValues(t, 20, started("b"))
		o := f.State().Overrides
		require.EqualValues(t, 100, o.Started)
		require.Equal(t, 2, o.Live)
		require.EqualValues(t, 2, o.Received)
		require.Equal(t, []control.Count{{Reason: "spans per second", N: 190 + 240 + 220}, {Reason: "spans per trace", N: 210}}, o.Cut)

		require.False(t, f.Admit(token("c", "job", time.Minute)).On(&f.gate, spangate.BitSandbox))
		require.Equal(t, o.Cut, f.State().Overrides.Cut, "what no override selects is not cut")
	})
}

func TestBudgetOfTracesHoldsUnderAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.OverrideBudget(control.Budget{Traces: 100}), control.AdmitOverrides(nil))
		first := f.Admit(token("first", "sandbox", time.Hour))
		flood := func(name string) (on int) {
			for i := range 10_000 {
				id := fmt.Sprintf("%s_%d", name, i)
				o := f.Admit(token(id, "all", time.Minute/2))
				require.Equal(t, id, o.Name().ID, "it goes on to other processes")
				if o.On(&f.gate, spangate.BitSandbox) {
					on++
				}
			}
			control.WithOverrides(f.Controller, func(n int) { require.LessOrEqual(t, n, 100) })
			return on
		}
		require.Equal(t, 99, flood("a"))
		require.Equal(t, "sandbox", f.overridden(first))
		require.Equal(t, []control.Count{{Reason: "traces", N: 10_000 - 99}}, f.State().Overrides.Cut)
		f.grant(t, control.LeaseRequest{Spec: "all", Share: 1, TTL: time.Hour})
		require.Nil(t, f.Begin(trace(0, 0), ""))
		sleep(time.Minute / 2)
		require.Equal(t, 1, f.State().Overrides.Live, "the others have ended")
		require.Equal(t, 99, flood("b"))
		sleep(time.Minute)
		require.Equal(t, 100, flood("c"), "the place of an idle override is free")
		require.Equal(t, "sandbox", f.overridden(first), "and it goes on")
	})
}

func TestOverrideThatStartsSpansStaysLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.OverrideBudget(control.Budget{Traces: 2}), control.AdmitOverrides(nil))
		admit := func(id string) *spangate.Override { return f.Admit(token(id, "sandbox", time.Hour)) }
		used := admit("used")
		admit("idle")
		sleep(50 * time.Second)
		require.Equal(t, "sandbox", f.overridden(used))
		sleep(20 * time.Second)
		require.Equal(t, 1, f.State().Overrides.Live)
		later := admit("later")
		require.Equal(t, 2, f.State().Overrides.Live)
		require.Empty(t, f.overridden(admit("too many")))
		require.Equal(t, "sandbox", f.overridden(later), "in the place of the idle one")
		require.Same(t, used, admit("used"))
		require.Equal(t, 2, f.State().Overrides.Live)
	})
}

func TestFreePlaceIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.AdmitOverrides(nil), control.OverrideBudget(control.Budget{Traces: 2}))
		f.Admit(token("a", "sandbox", time.Hour))
		for i := range 5 {
			require.Equal(t, "sandbox", f.overridden(f.Admit(token(fmt.Sprint("short", i), "sandbox", time.Second))), i)
			sleep(2 * time.Second)
			require.Equal(t, 1, f.State().Overrides.Live)
		}
		require.Empty(t, f.State().Overrides.Cut)
	})
}

func TestOverrideThatTurnsNothingOnIsNotLive(t *testing.T) {
	for name, end := range map[string]func(*fixture, control.Lease) error{
		"released": func(_ *fixture, l control.Lease) error { return l.Release() },
		"closed":   func(f *fixture, _ control.Lease) error { return f.Close() },
		"revoked": func(f *fixture, l control.Lease) error {
			_, err := f.Lease(control.LeaseRequest{Owner: "ann", Revoke: l.ID(), TTL: time.Hour})
			return err
		},
	} {
		f := newFixture(t)
		l := f.grant(t, control.LeaseRequest{Spec: "all", Share: 1, TTL: time.Hour})
		require.NotNil(t, f.Begin(trace(0, 1), ""))
		require.Equal(t, 1, f.State().Overrides.Live)
		require.NoError(t, end(f, l))
		require.Zero(t, f.State().Overrides.Live, name)
	}
	f := newFixture(t, control.AdmitOverrides(nil))
	f.Admit(token("a", "nope", time.Hour))
	require.Zero(t, f.State().Overrides.Live, "of a group of other processes")
}

func TestReleasedLeaseFreesTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.OverrideBudget(control.Budget{Traces: 100}))
		begin := func() (begun int) {
			for i := range 200 {
				if f.Begin(trace(uint64(i), 1), "") != nil {
					begun++
				}
			}
			return begun
		}
		l := f.grant(t, control.LeaseRequest{Spec: "all", Share: 1, TTL: time.Hour})
		require.Equal(t, 100, begin())
		require.NoError(t, l.Release())
		f.grant(t, control.LeaseRequest{Spec: "sandbox", Match: "customer=42", TTL: time.Hour})
		require.Nil(t, f.offer("42"), "one search a second")
		sleep(time.Second)
		require.Equal(t, "sandbox", f.overridden(f.offer("42")))
		require.Equal(t, 1, f.State().Overrides.Live)
		f.grant(t, control.LeaseRequest{Spec: "job", Share: 1, TTL: time.Hour})
		require.Equal(t, 99, begin(), "the override that turns something on keeps its place")
	})
}

func TestRateHoldsIfACallerComesLate(t *testing.T) {
	var r control.Rate
	require.True(t, control.Take(&r, 7, 1))
	require.False(t, control.Take(&r, 6, 1))
	require.False(t, control.Take(&r, 7, 1))
	require.True(t, control.Take(&r, 8, 1))
}

func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		propagator := map[string]uint64{"untrusted": 5, "oversized": 0, "expired": 2, "not admitted": 9}
		f := newFixture(t, control.MaxTTL(time.Hour), control.AdmitOverrides(func() iter.Seq2[string, uint64] { return maps.All(propagator) }))
		for reason, names := range map[string][]spangate.OverrideName{
			"malformed": {token("", "all", time.Minute), token("a b", "all", time.Minute), token(strings.Repeat("x", 65), "all", time.Minute),
				token("a", "", time.Minute), token("a", " ", time.Minute), token("a", "a b", time.Minute), token("a", strings.Repeat("a", 257), time.Minute)},
			"expired":       {token("a", "all", 0), {ID: "a", Spec: "all"}},
			"too far ahead": {token("a", "all", 2*time.Hour+1), token("a", "all", math.MaxInt64)},
		} {
			for _, name := range names {
				require.Nil(t, f.Admit(name), "%s: %v", reason, name)
			}
		}
		require.Equal(t, []control.Count{{Reason: "expired", N: 4}, {Reason: "malformed", N: 7}, {Reason: "too far ahead", N: 2}, {Reason: "untrusted", N: 5}}, f.State().Overrides.Refused)
		for range 3 {
			require.NotNil(t, f.Admit(token(strings.Repeat("x", 64), "unknown,nope", 2*time.Hour)), "for other processes")
		}
		a := f.Admit(token("a", "sandbox", time.Minute))
		require.Same(t, a, f.Admit(token("a", "all", time.Hour)), "a replay is the same override")
		require.Equal(t, "sandbox", f.overridden(a))
		sleep(time.Minute)
		require.Empty(t, f.overridden(a))
		require.EqualValues(t, 2, f.State().Overrides.Received)
		require.Equal(t, "job", f.overridden(f.Admit(token("a", "job", time.Minute))), "another token of the same id")
	})
	f := newFixture(t, control.AdmitOverrides(nil), control.MaxTTL(math.MaxInt64))
	require.NotNil(t, f.Admit(token("a", "all", math.MaxInt64)))
	f = newFixture(t)
	require.Nil(t, f.Admit(token("a", "all", time.Minute)), "by default")
	require.Zero(t, f.gate.Reach())
	require.Equal(t, []control.Count{{Reason: "not admitted", N: 1}}, f.State().Overrides.Refused)
}

func TestRevocation(t *testing.T) {
	f := newFixture(t, control.AdmitOverrides(nil))
	detail := f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 1})
	own, a, ab := f.Begin(trace(0, 0), ""), f.Admit(token("a", "all", time.Minute)), f.Admit(token("a-b", "job", time.Minute))
	revokeAB := f.grant(t, control.LeaseRequest{Revoke: "a-b"})
	require.Equal(t, "lease "+revokeAB.ID()+" for 1m0s that revokes override a-b", f.State().Changes[0].Why)
	require.Empty(t, f.overridden(ab))
	require.NotEmpty(t, f.overridden(a))
	require.Nil(t, f.Admit(token("a-b", "all", time.Minute)))
	require.NotNil(t, f.Admit(token("a-c", "all", time.Minute)))
	f.grant(t, control.LeaseRequest{Revoke: "a"})
	require.Empty(t, f.overridden(a))
	require.Nil(t, f.Admit(token("a-c", "all", time.Minute)), "the ids that begin with it and -")
	require.NotNil(t, f.Admit(token("ac", "all", time.Minute)))
	require.Equal(t, []control.Count{{Reason: "revoked", N: 2}}, f.State().Overrides.Refused)

	f.grant(t, control.LeaseRequest{Revoke: own.Name().ID})
	require.Empty(t, f.overridden(own))
	require.Nil(t, f.Begin(trace(0, 0), ""))
	require.NotNil(t, f.Begin(trace(0, 1), ""))
	f.grant(t, control.LeaseRequest{Revoke: detail.ID()})
	require.Nil(t, f.Begin(trace(0, 1), ""))
	require.NoError(t, revokeAB.Release())
	require.Empty(t, f.overridden(ab), "a revokes it too")
}

func TestRevocationByEveryPrefixOfAnID(t *testing.T) {
	const id = "shop-eu--7-"
	for prefix, revoked := range map[string]bool{"shop": true, "shop-eu": true, "shop-eu-": true, "shop-eu--7": true, id: true,
		"sho": false, "shop-": false, "shop-e": false, "shop-eu--": false, "eu": false, id + "-": false} {
		f := newFixture(t, control.AdmitOverrides(nil))
		o := f.Admit(token(id, "sandbox", time.Minute))
		f.grant(t, control.LeaseRequest{Revoke: prefix})
		require.Equal(t, revoked, f.overridden(o) == "", prefix)
		require.Equal(t, revoked, f.Admit(token(id, "sandbox", time.Minute)) == nil, prefix)
	}
}

func TestReleasedThenGrantedAgain(t *testing.T) {
	f := newFixture(t)
	first := f.grant(t, control.LeaseRequest{Spec: "job", Share: 1})
	o := f.Begin(trace(0, 1), "")
	later := f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 1, TTL: time.Hour})
	require.Equal(t, "job", f.overridden(o), "of the lease that gave it, and of none granted later")
	require.NoError(t, first.Release())
	require.Empty(t, f.overridden(o))
	require.Equal(t, "sandbox", f.overridden(f.Begin(trace(0, 2), "")))
	f.grant(t, control.LeaseRequest{Revoke: later.ID()})
	require.Nil(t, f.Begin(trace(0, 3), ""))
}

func TestRevokedLeaseEndsWhatItGives(t *testing.T) {
	for _, match := range []bool{false, true} {
		f := newFixture(t)
		var leases []control.Lease
		for i, spec := range []string{"job", "sandbox"} {
			req := control.LeaseRequest{Spec: spec, Share: 1, TTL: time.Duration(i+1) * time.Hour}
			if match {
				req.Share, req.Match = 0, "customer=42"
			}
			leases = append(leases, f.grant(t, req))
		}
		o := f.Begin(trace(0, 1), "")
		if match {
			o = f.offer("42")
		}
		require.Equal(t, "job,sandbox", f.overridden(o))
		other, left := leases[1], "job"
		if strings.HasPrefix(o.Name().ID, other.ID()) {
			other, left = leases[0], "sandbox"
		}
		f.grant(t, control.LeaseRequest{Revoke: other.ID()})
		require.Equal(t, left, f.overridden(o), "although its id begins with that of the other lease")
	}
}

// A detail whose groups a larger share has too goes on with them when that share is released.
func TestTraceKeepsWhatASecondLeaseOfTheSameGroupsGives(t *testing.T) {
	f := newFixture(t)
	large := f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 0.5})
	small := f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 0.25})
	both, one := f.Begin(trace(always, 1), ""), f.Begin(trace(3<<54-1, 1), "")
	require.NoError(t, large.Release())
	require.Equal(t, "sandbox", f.overridden(both))
	require.Empty(t, f.overridden(one))
	require.NoError(t, small.Release())
	require.Empty(t, f.overridden(both))
}

func TestRevocationWhenTheLeasesAreFull(t *testing.T) {
	for name, fill := range map[string]func() (*fixture, error){
		"number": func() (*fixture, error) {
			f := newFixture(t, control.MaxLeases(1), control.AdmitOverrides(nil))
			f.grant(t, control.LeaseRequest{Spec: "job", Match: "a=1"})
			_, err := f.Lease(control.LeaseRequest{Owner: "ann", Spec: "job", TTL: time.Minute})
			return f, err
		},
		"size": func() (f *fixture, err error) {
			f = newFixture(t, control.AdmitOverrides(nil))
			for err == nil {
				_, err = f.Lease(control.LeaseRequest{Owner: "ann", Spec: "job", Why: strings.Repeat("x", control.MaxWhyLen), TTL: time.Minute})
			}
			return f, err
		},
	} {
		f, err := fill()
		require.ErrorIs(t, err, control.ErrTooManyLeases, name)
		o := f.Admit(token("stolen", "sandbox", time.Minute))
		require.Equal(t, "sandbox", f.overridden(o))
		f.grant(t, control.LeaseRequest{Revoke: "stolen", Why: strings.Repeat("x", control.MaxWhyLen)})
		require.Empty(t, f.overridden(o), name)
		for i := range 15 {
			f.grant(t, control.LeaseRequest{Revoke: fmt.Sprint("other", i), Why: strings.Repeat("x", control.MaxWhyLen)})
		}
		_, err = f.Lease(control.LeaseRequest{Owner: "ann", Revoke: "one-more", Why: strings.Repeat("x", control.MaxWhyLen), TTL: time.Minute})
		require.ErrorIs(t, err, control.ErrTooManyLeases, name)
	}
}

func TestBadDetailIsRefused(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		req            control.LeaseRequest
		field, message string
	}{
		{control.LeaseRequest{Spec: "job", Share: 1.5}, "share", `share "1.5": bad detail: it is more than all traces`},
		{control.LeaseRequest{Spec: "job", Share: -1}, "share", "it is below 0"},
		{control.LeaseRequest{Spec: "job", Share: math.NaN()}, "share", "it is not a number"},
		{control.LeaseRequest{Spec: "job", Share: math.Inf(1)}, "share", "more than all"},
		{control.LeaseRequest{Spec: "job", Share: 0.5, Match: "a=b"}, "share", "it excludes match"},
		{control.LeaseRequest{Spec: "job", Share: 0.5, Quiet: "server"}, "share", "it excludes quiet"},
		{control.LeaseRequest{Spec: "job", Match: "a=b", Quiet: "server"}, "match", "it excludes quiet"},
		{control.LeaseRequest{Spec: "job", Match: "a"}, "match", `match "a": bad detail: "a" is no field and value; write it as in customer=42,tier=gold`},
		{control.LeaseRequest{Spec: "job", Match: "a=b,"}, "match", `"" is no field`},
		{control.LeaseRequest{Spec: "job", Match: "a= "}, "match", "is no field"},
		{control.LeaseRequest{Spec: "job", Match: "=b"}, "match", "is no field"},
		{control.LeaseRequest{Spec: "job", Match: "a=1,b=2, a = 2"}, "match", `" a = 2" contradicts another value`},
		{control.LeaseRequest{Spec: "job", Match: "a=b\nc"}, "match", "one line"},
		{control.LeaseRequest{Spec: "job", Match: "a=" + strings.Repeat("x", control.MaxMatchLen)}, "match", "at most 1024"},
		{control.LeaseRequest{Spec: "job" + strings.Repeat(",job", 30), Match: "a=b"}, "match", "at most 160 bytes, percent-encoded"},
		{control.LeaseRequest{Revoke: "x", Spec: "job"}, "revoke", "request two leases"},
		{control.LeaseRequest{Revoke: "x", Share: 1}, "revoke", "request two leases"},
		{control.LeaseRequest{Revoke: "x.y"}, "revoke", "spangate.override"},
	} {
		c.req.Owner, c.req.TTL = "ann", time.Minute
		_, err := f.Lease(c.req)
		require.ErrorIs(t, err, control.ErrDetail)
		require.ErrorContains(t, err, c.message)
		var failed *control.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, c.field, failed.Op)
	}
	for _, req := range []control.LeaseRequest{{Share: 0.5}, {Match: "a=b"}, {Share: 0.5, Spec: "job,-job"}} {
		req.Owner, req.TTL = "ann", time.Minute
		_, err := f.Lease(req)
		require.ErrorIs(t, err, control.ErrNoEffect)
	}
	_, err := f.Lease(control.LeaseRequest{Owner: "ann", TTL: time.Minute, Share: 0.5, Spec: "jop"})
	require.ErrorIs(t, err, spangate.ErrUnknownName)
	require.Empty(t, f.State().Leases)
	f.grant(t, control.LeaseRequest{Spec: "job", Match: "a=1,a = 1"})
	tooMany := math.MaxInt32
	tooMany++ // negative where int has 32 bits
	for _, b := range []control.Budget{{Traces: -1}, {SpansPerSecond: -1}, {SpansPerTrace: tooMany}, {Time: -1}} {
		_, err := control.New(f.registry, control.OverrideBudget(b))
		require.ErrorContains(t, err, "bad option: OverrideBudget with ")
	}
	require.Equal(t, control.Budget{Traces: 1000, SpansPerSecond: 1000, SpansPerTrace: 10_000, Time: time.Hour}, f.State().Overrides.Budget)
}

// TestSpanOfAnOverrideTakesNoLock pins that a span in an overridden trace waits for no change and no
// other trace, and allocates nothing.
func TestSpanOfAnOverrideTakesNoLock(t *testing.T) {
	f := newFixture(t, control.AdmitOverrides(nil), control.OverrideBudget(control.Budget{SpansPerSecond: math.MaxInt32, SpansPerTrace: math.MaxInt32}))
	f.grant(t, control.LeaseRequest{Spec: "sandbox", Share: 0.5, TTL: time.Hour})
	f.grant(t, control.LeaseRequest{Spec: "sandbox", Match: "customer=42", TTL: time.Hour})
	none, lookups := trace(0, 0), customer("43")
	for name, o := range map[string]*spangate.Override{"share": f.Begin(trace(always, 1), ""), "match": f.offer("42"), "received": f.Admit(token("a", "sandbox", time.Minute))} {
		ctx := spangate.ContextWithOverride(context.Background(), o)
		require.True(t, f.gate.OnContext(ctx, spangate.BitSandbox), name)
		control.WithLock(f.Controller, func() {
			control.WithOverrides(f.Controller, func(int) {
				require.Zero(t, testing.AllocsPerRun(100, func() {
					if !f.gate.OnContext(ctx, spangate.BitSandbox) || f.gate.OnContext(ctx, spangate.BitVerify) {
						t.Error(name)
					}
				}), name)
				require.Zero(t, testing.AllocsPerRun(100, func() {
					f.Begin(none, "")
					f.Offer(ctx, lookups)
					f.Offer(context.Background(), lookups)
				}), "a trace that is not chosen")
			})
		})
	}
}

// TestOverrideWithoutRoomLeavesNothingBehind pins what each of a flood of distinct ids costs: the
// override that carries its name on, and nothing if it is refused.
func TestOverrideWithoutRoomLeavesNothingBehind(t *testing.T) {
	f := newFixture(t, control.AdmitOverrides(nil), control.OverrideBudget(control.Budget{Traces: 1}))
	require.NotNil(t, f.Admit(token("first", "all", time.Minute)))
	name, late := token("other", "default,sandbox", time.Minute), token("other", "default,sandbox", 0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { f.Admit(name) }), 3.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { f.Admit(late) }))
	control.WithOverrides(f.Controller, func(n int) { require.Equal(t, 1, n) })
}

// TestOverridesRaceWithChanges lets traces, changes of everything that overrides depend on, and reads
// run at once. The race detector looks for races, and the test that the limits hold at every time.
func TestOverridesRaceWithChanges(t *testing.T) {
	f := newFixture(t, control.AdmitOverrides(nil), control.Deny("job"), control.OverrideBudget(control.Budget{Traces: 20, SpansPerSecond: math.MaxInt32}))
	h := control.Handler(f.Controller)
	done := make(chan struct{})
	var changing, tracing sync.WaitGroup
	for i := range 3 {
		changing.Go(func() {
			for n := range 50 {
				l := f.grant(t, control.LeaseRequest{Spec: "all", Share: 1 / float64(i+1)})
				m := f.grant(t, control.LeaseRequest{Spec: "sandbox", Match: "customer=42"})
				r := f.grant(t, control.LeaseRequest{Revoke: fmt.Sprintf("t_%d", n)})
				for _, l := range []control.Lease{l, m, r} {
					if err := l.Release(); err != nil {
						t.Error(err)
					}
				}
			}
		})
		tracing.Go(func() {
			for n := uint64(0); ; n++ {
				select {
				case <-done:
					return
				default:
				}
				for _, o := range []*spangate.Override{f.Begin(trace(n<<50, byte(n)), ""), f.offer("42"), f.Admit(token(fmt.Sprintf("t_%d", n%50), "all", time.Minute))} {
					o.On(&f.gate, spangate.BitSandbox)
					if o.On(&f.gate, spangate.BitJob) {
						t.Error("a denied group is on")
					}
				}
				if n%64 == 0 {
					get(t, h, "")
				}
			}
		})
	}
	changing.Wait()
	close(done)
	tracing.Wait()
	require.Equal(t, spangate.Gym.All()&^spangate.BitJob, f.gate.Reach())
}

func TestEndpointTakesAndShowsDetails(t *testing.T) {
	f := newFixture(t, control.AdmitOverrides(nil))
	e := newEndpoint(t, f, control.Authorize(control.Anyone()))
	l := as[wire.Lease](e.form("POST", "/leases", "spec=sandbox&share=1/1000&ttl=1h&owner=ann"), 201)
	require.Equal(t, []string{"0.1%", "", ""}, []string{l.Share, l.Match, l.Revoke})
	l = as[wire.Lease](e.json("POST", "/leases", `{"spec":"sandbox","match":"customer=42","ttl":"1h","owner":"ann"}`), 201)
	require.Equal(t, []string{"", "customer=42", ""}, []string{l.Share, l.Match, l.Revoke})
	l = as[wire.Lease](e.form("POST", "/leases", "revoke=abc&ttl=1h&owner=ann"), 201)
	require.Equal(t, "abc", l.Revoke)
	for body, field := range map[string]string{
		"spec=job&share=1": "share", "spec=job&share=x": "share", "spec=job&match=x": "match", "revoke=a.b": "revoke", "revoke=a&spec=job": "revoke", "share=1%25&spec=": "spec",
	} {
		require.Equal(t, field, e.form("POST", "/leases", body+"&ttl=1h&owner=ann").refused(400, wire.CodeBadField).Field, body)
	}
	e.form("POST", "/leases", "share=1%25&ttl=1h&owner=ann").refused(400, wire.CodeMissingField)

	f.offer("42")
	f.Admit(token("late", "all", 0))
	s := as[wire.State](e.do("GET", "/", ""), 200)
	require.Equal(t, wire.Overrides{Admitted: true, Live: 1, Chosen: "1", Received: "0", Started: "0", Sampled: "0", Cut: []wire.Count{}, Refused: []wire.Count{{Reason: wire.RefusedExpired, Count: "1"}},
		MaxTraces: 1000, MaxSpansPerSecond: 1000, MaxSpansPerTrace: 10_000, MaxTime: "1h0m0s"}, s.Overrides)
}

// TestCountsOfOverridesAreNotCached pins that counts that change within a generation are shown within
// a second, to a client that has an answer of that generation too.
func TestEmptyShareOrMatchIsNoLeaseOnAllTraces(t *testing.T) {
	for _, c := range []struct {
		contentType, body, accept string
		status                    int
	}{
		{"application/x-www-form-urlencoded", "spec=all&share=&ttl=1h&owner=m", "", 400},
		{"application/x-www-form-urlencoded", "spec=all&match=&ttl=1h&owner=m", "*/*", 400},
		{"application/x-www-form-urlencoded", "spec=all&match=+&ttl=1h&owner=m", "", 400},
		{"application/x-www-form-urlencoded", "spec=all&share=+&ttl=1h&owner=m", "", 400},
		{"application/json", `{"spec":"all","share":"","ttl":"1h","owner":"m"}`, "", 400},
		{"application/json", `{"spec":"all","match":"\u0020","ttl":"1h","owner":"m"}`, "", 400},
		{"application/json", `{"spec":"all","match":"","ttl":"1h","owner":"m"}`, "", 400},
		{"application/json", `{"spec":"all","match":null,"ttl":"1h","owner":"m"}`, "", 201},
		{"application/x-www-form-urlencoded", "spec=all&share=&match=&ttl=1h&owner=m", "text/html,*/*;q=0.8", 303}, // the form of the page
	} {
		f := newFixture(t)
		h := control.Handler(f.Controller, control.Authorize(func(*http.Request) (string, error) { return "test", nil }))
		r := httptest.NewRequest("POST", "/leases", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, "%s: %s", c.body, w.Body)
		require.Equal(t, c.status == 400, f.on() == "", c.body)
	}
}

func TestCountsOfOverridesAreNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, control.AdmitOverrides(nil))
		h := control.Handler(f.Controller)
		ask := func() *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("If-None-Match", `"`+f.State().Generation+`"`)
			return serve(h, r)
		}
		require.Equal(t, 304, ask().Code)
		f.Admit(token("a", "all", time.Minute))
		sleep(time.Second)
		require.Contains(t, ask().Body.String(), `"received":"1"`)
		require.Contains(t, ask().Body.String(), `"received":"1"`, "the tag of the other answer")
		require.NoError(t, f.SetBaseline(baseline("job")))
		require.Equal(t, 304, ask().Code)
	})
}

// BenchmarkOverride asks for a group of a trace in detail, as each span of it does: one that the
// override turns on, one that the budget cuts, and one that the override does not have.
func BenchmarkOverride(b *testing.B) {
	for name, c := range map[string]struct {
		perSecond int
		group     spangate.Mask
	}{"on": {math.MaxInt32, spangate.BitSandbox}, "cut": {1, spangate.BitSandbox}, "other": {1, spangate.BitVerify}} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, control.OverrideBudget(control.Budget{SpansPerSecond: c.perSecond, SpansPerTrace: math.MaxInt32}))
			f.grant(b, control.LeaseRequest{Spec: "sandbox", Share: 0.5, TTL: time.Hour})
			f.grant(b, control.LeaseRequest{Spec: "verify", Match: "customer=42", TTL: time.Hour})
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				o := f.Begin(trace(always, 1), "")
				for pb.Next() {
					o.On(&f.gate, c.group)
				}
			})
		})
	}
}
