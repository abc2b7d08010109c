// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
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
	"github.com/spangate/spangate/registry"
)

// TestEveryWayToChangeSomethingIsLogged makes every kind of change, and checks the callback, the
// record and the state after each.
func TestEveryWayToChangeSomethingIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(records)
		f := newFixture(t, control.StartupBaseline(control.Baseline{Spec: "job", Who: "environment", Why: "X"}),
			control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})))
		var first, second control.Lease
		var id string
		named := control.Handler(f.Controller, control.Authorize(func(*http.Request) (string, error) { return "admin", nil }))
		unnamed := control.Handler(f.Controller, control.Authorize(func(*http.Request) (string, error) { return "", nil }))
		send := func(h http.Handler, method, path, body string) func() error {
			return func() error {
				r := httptest.NewRequest(method, strings.ReplaceAll(path, "ID", id), strings.NewReader(body))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				var answer struct{ ID string }
				assert.Less(t, w.Code, 300, w.Body.String())
				if path == "/leases" {
					assert.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
					id = answer.ID
				}
				return nil
			}
		}
		lease := func(l *control.Lease, req control.LeaseRequest) func() error {
			return func() (err error) { *l, err = f.Lease(req); id = l.ID(); return err }
		}
		wait := func(d time.Duration) func() error { return func() error { sleep(d); return nil } }
		gate := new(spangate.Gate)

		type step struct {
			do       func() error
			kind     control.ChangeKind
			who, why string // ID stands for the id of the latest lease
			now      string
		}
		steps := []step{
			{func() error { return f.Configure(control.Baseline{Spec: "job,step"}) }, "baseline", "program", "", "job,step"},
			{func() error { return f.Configure(control.Baseline{Spec: "job", Who: "chart", Why: "v2"}) }, "baseline", "chart", "v2", "job"},
			{func() error { return f.SetBaseline(control.Baseline{Spec: "step", Who: "you", Why: "training"}) }, "baseline", "you", "training", "step"},
			{func() error { return f.SetBaseline(control.Baseline{Spec: "step"}) }, "baseline", "program", "", "step"},
			{func() error { return f.ResetBaseline("you", "enough") }, "baseline", "you", "enough", "job"},
			{func() error { return f.ResetBaseline("", "") }, "baseline", "program", "back to the start-up baseline", "job"},
			{func() error { return f.SetLimits(control.Limits{Deny: "job", Who: "admin", Why: "cost"}) }, "limits", "admin", "cost", ""},
			{func() error { return f.SetLimits(control.Limits{}) }, "limits", "program", "", "job"},
			{lease(&first, control.LeaseRequest{Owner: "me", Spec: "sandbox", TTL: time.Minute, Why: "it is slow"}), "lease", "me", "lease ID for 1m0s: it is slow", "job,sandbox"},
			{func() error { return first.Renew(time.Hour) }, "renewal", "me", "lease ID for another 1h0m0s", "job,sandbox"},
			{func() error { return f.Renew(first.ID(), time.Minute) }, "renewal", "me", "lease ID for another 1m0s", "job,sandbox"},
			{func() error { return first.Release() }, "release", "me", "lease ID was released", "job"},
			{lease(&first, control.LeaseRequest{Owner: "me", Quiet: "job", TTL: time.Minute}), "lease", "me", "lease ID for 1m0s", ""},
			{func() error { return f.Release(first.ID()) }, "release", "me", "lease ID was released", "job"},
			{lease(&first, control.LeaseRequest{Owner: "me", Spec: "agent", TTL: time.Second}), "lease", "me", "lease ID for 1s", "job,agent"},
			{wait(time.Second), "expiry", "me", "lease ID ended", "job"},
			{lease(&first, control.LeaseRequest{Owner: "me", Spec: "agent", TTL: time.Second}), "lease", "me", "lease ID for 1s", "job,agent"},
			{lease(&second, control.LeaseRequest{Owner: "her", Spec: "verify", TTL: time.Second}), "lease", "her", "lease ID for 1s", "job,verify,agent"},
			{wait(time.Second), "expiry", "", "2 leases ended", "job"}, // the owners are in the order of the ids
			{send(named, "PUT", "/", "spec=step&why=w&who=me"), "baseline", "admin", "w", "step"},
			{send(unnamed, "PUT", "/", "spec=job&who=me"), "baseline", "me", "", "job"},
			{send(unnamed, "PUT", "/", "spec=step"), "baseline", "192.0.2.1", "", "step"},
			{send(named, "DELETE", "/", ""), "baseline", "admin", "back to the start-up baseline", "job"},
			{send(unnamed, "DELETE", "/", ""), "baseline", "192.0.2.1", "back to the start-up baseline", "job"},
			{send(named, "POST", "/leases", "spec=agent&ttl=1m&owner=me&why=w"), "lease", "admin", "lease ID for 1m0s: w", "job,agent"},
			{send(named, "PATCH", "/leases/ID", "ttl=2m"), "renewal", "admin", "lease ID for another 2m0s", "job,agent"},
			{send(unnamed, "DELETE", "/leases/ID", ""), "release", "192.0.2.1", "lease ID was released", "job"},
			{send(unnamed, "POST", "/leases", "spec=agent&ttl=1m&owner=me"), "lease", "me", "lease ID for 1m0s", "job,agent"},
			{send(named, "DELETE", "/leases/ID", ""), "release", "admin", "lease ID was released", "job"},
			{func() error { return f.registry.Register(mydb, gate) }, "namespaces", "registry", "mydb registered", "job"},
			{func() error { return f.registry.Register(mydb, gate, registry.Override()) }, "namespaces", "registry", "mydb replaced", "job"},
			{func() error { return f.registry.Unregister("mydb") }, "namespaces", "registry", "mydb unregistered", "job"},
			{func() error { f.registry.SetSpec("agent"); return nil }, "registry", "registry", "SetSpec was called on the registry itself", "agent"},
			{func() error { return f.registry.Register(mydb, gate, registry.Override()) }, "namespaces", "registry", "mydb registered", "agent"},
			{func() error { return f.registry.Register(mydb, gate, registry.Override()) }, "namespaces", "registry", "mydb replaced", "agent"},
			{func() error { return f.registry.Pin("step") }, "registry", "registry", "Pin was called on the registry itself; it holds until SetSpec", "step"},
			{func() error { return f.SetBaseline(control.Baseline{Spec: "all", Who: "you"}) }, "baseline", "you", "", "step"},
			{func() error { f.registry.SetSpec("step"); return nil }, "registry", "registry", "SetSpec was called on the registry itself", "step"},
			{func() error { return f.ResetBaseline("", "") }, "baseline", "program", "back to the start-up baseline", "job"},
			{lease(&first, control.LeaseRequest{Owner: "me", Spec: "agent", TTL: time.Second}), "lease", "me", "lease ID for 1s", "job,agent"},
			{func() error { return f.Controller.Close() }, "close", "program", "the controller was closed", "job"},
		}
		log.take()
		before := "job"
		list := func(spec string) []string { return slices.Sorted(strings.SplitSeq(spec, ",")) }
		for i, step := range steps {
			made := time.Now()
			require.NoError(t, step.do(), "step %d", i)
			change := f.changes.one(t)
			if step.who == "" {
				require.Contains(t, []string{"me, her", "her, me"}, change.Who)
				step.who = change.Who
			}
			if step.kind == control.KindExpiry {
				made = time.Now()
			}
			want := control.Change{
				Generation: f.State().Generation, Time: made.UTC().Truncate(time.Millisecond),
				Kind: step.kind, Who: step.who, Why: strings.ReplaceAll(step.why, "ID", id),
				Old: slices.DeleteFunc(list(before), blank), New: slices.DeleteFunc(list(step.now), blank),
			}
			require.Equal(t, want, change, "step %d", i)
			require.Equal(t, want, f.State().Changes[0], "step %d", i)
			if i > 0 {
				require.Equal(t, next(t, f.State().Changes[1].Generation), change.Generation)
			}
			before = step.now

			logged := log.take()
			require.Len(t, logged, 1)
			require.Equal(t, slog.LevelInfo, logged[0].Level)
			require.Equal(t, "spangate: spans changed", logged[0].Message)
			require.True(t, made.Equal(logged[0].Time), "%v, not %v", made, logged[0].Time)
			require.Equal(t, map[string]any{
				"generation": want.Generation, "kind": string(want.Kind), "who": want.Who, "why": want.Why, "old": want.Old, "new": want.New,
			}, attrsOf(logged[0]), "step %d", i)
		}
	})
}

func blank(name string) bool { return name == "" }

// next returns the generation after this one.
func next(t *testing.T, generation string) string {
	t.Helper()
	instance, number, found := strings.Cut(generation, "-")
	require.True(t, found, generation)
	n, err := strconv.ParseUint(number, 10, 64)
	require.NoError(t, err)
	return fmt.Sprintf("%s-%d", instance, n+1)
}

// TestConcurrentChangesKeepTheirCauses makes concurrent changes of every kind, each with an effect
// that no other has.
func TestConcurrentChangesKeepTheirCauses(t *testing.T) {
	f := newFixture(t)
	db := new(spangate.Gate)
	var all sync.WaitGroup
	const times = 200
	for _, who := range []string{"job", "agent"} {
		all.Go(func() {
			for range times {
				assert.NoError(t, f.SetBaseline(control.Baseline{Spec: who, Who: who, Why: who}))
			}
		})
	}
	all.Go(func() {
		for range times {
			f.registry.SetSpec("step")
			assert.NoError(t, f.registry.Pin("verify"))
			f.registry.SetSpec("step")
		}
	})
	all.Go(func() {
		for range times {
			assert.NoError(t, f.registry.Register(mydb, db, registry.Override()))
			assert.NoError(t, f.registry.Register(mydb, db, registry.Override()))
			assert.NoError(t, f.registry.Unregister("mydb"))
		}
	})
	all.Wait()
	had, pinned := false, false
	counts := map[control.ChangeKind]int{}
	for _, change := range f.changes.take() {
		counts[change.Kind]++
		switch {
		case change.Kind == control.KindBaseline:
			require.Equal(t, change.Who, change.Why)
			if !pinned {
				require.Equal(t, []string{change.Who}, change.New)
			}
		case change.Kind == control.KindRegistry:
			pinned = strings.HasPrefix(change.Why, "Pin ")
			require.Equal(t, map[bool][]string{true: {"verify"}, false: {"step"}}[pinned], change.New)
		default:
			require.Equal(t, control.KindNamespaces, change.Kind)
			require.Equal(t, change.Old, change.New)
			want := "mydb registered"
			if had {
				want = "mydb replaced"
			}
			if had = change.Why != "mydb unregistered"; had {
				require.Equal(t, want, change.Why)
			}
		}
		if pinned {
			require.Equal(t, []string{"verify"}, change.New)
		}
	}
	require.Equal(t, map[control.ChangeKind]int{control.KindBaseline: 2 * times, control.KindRegistry: 3 * times, control.KindNamespaces: 3 * times}, counts)
}

func TestStateShowsTheLatestChanges(t *testing.T) {
	f := newFixture(t)
	for range 100 {
		require.NoError(t, f.SetBaseline(baseline("job")))
	}
	s := f.State()
	require.Len(t, s.Changes, 20)
	require.Equal(t, s.Generation, s.Changes[0].Generation)
	require.Len(t, f.changes.take(), 100)

	for range 100 {
		require.NoError(t, f.registry.Unregister("nemo_gym"))
		require.NoError(t, f.registry.Register(spangate.Gym, &f.gate))
	}
	s = f.State()
	require.Len(t, s.Changes, 20)
	require.Equal(t, s.Generation, s.Changes[0].Generation)
	for i, change := range s.Changes {
		require.Equal(t, i < 10, change.Kind == control.KindNamespaces, "namespaces do not push out the changes of people")
	}
}

func TestReturnedValuesBelongToTheCaller(t *testing.T) {
	f := newFixture(t, control.OnChange(func(c control.Change) {
		for i := range c.New {
			c.New[i] = "spoilt"
		}
	}), control.StartupBaseline(baseline("job")), control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: func(r slog.Record) {
		attrs := attrsOf(r)
		for _, names := range [][]string{attrs["old"].([]string), attrs["new"].([]string)} {
			for i := range names {
				names[i] = "spoilt"
			}
		}
	}})))
	require.NoError(t, f.SetBaseline(baseline("job,step")))
	require.Equal(t, []string{"job", "step"}, f.changes.one(t).New)
	f.lease(t, "me", "job", time.Hour)
	s := f.State()
	s.Enabled[0], s.Changes[0].Old[0], s.Changes[0].New[0] = "spoilt", "spoilt", "spoilt"
	s.Leases[0].Groups[0], s.Groups[0].Members[0].Doc, s.Presets[0].Groups[0] = "spoilt", "spoilt", "spoilt"
	b, err := json.Marshal(f.State())
	require.NoError(t, err)
	require.NotContains(t, string(b), "spoilt")
}

func TestLoggerMayCallTheController(t *testing.T) {
	var f atomic.Pointer[fixture]
	n := 0
	handler := &callingHandler{Handler: slog.DiscardHandler, call: func(slog.Record) {
		if f := f.Load(); f != nil && n < 3 {
			n++
			_ = f.State()
			_, _ = f.Lease(control.LeaseRequest{Owner: "logger", Spec: "sandbox", TTL: time.Hour})
		}
	}}
	made := newFixture(t, control.Logger(slog.New(handler)))
	f.Store(made)
	require.NoError(t, made.SetBaseline(baseline("job")))
	require.Len(t, made.changes.take(), 1+3)
	require.Len(t, made.State().Leases, 3)
}

// callingHandler is a slog.Handler that calls back for every record.
type callingHandler struct {
	slog.Handler
	call func(slog.Record)
}

func (*callingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *callingHandler) Handle(_ context.Context, r slog.Record) error {
	h.call(r)
	return nil
}
