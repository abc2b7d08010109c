// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// within fails the test if fn has not returned after ten seconds.
func within(t testing.TB, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	receive(t, what, done)
}

func receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "timed out", what)
	}
	return v
}

// list keeps what callbacks add to it.
type list struct {
	mu    sync.Mutex
	items []string
}

func (l *list) add(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item)
}

func (l *list) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items)
}

// records keeps the records that a handler is called with.
type records struct {
	mu   sync.Mutex
	list []slog.Record
}

func (r *records) add(record slog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, record.Clone())
}

// take returns the records since the last take.
func (r *records) take() []slog.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func attrsOf(r slog.Record) map[string]any {
	attrs := map[string]any{}
	r.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value.Any(); return true })
	return attrs
}

// blocker blocks its callers until it is opened.
type blocker struct {
	entered, leave chan struct{}
	enter, open    sync.Once
}

func newBlocker(t testing.TB) *blocker {
	b := &blocker{entered: make(chan struct{}), leave: make(chan struct{})}
	t.Cleanup(b.release)
	return b
}

func (b *blocker) block()   { b.enter.Do(func() { close(b.entered) }); <-b.leave }
func (b *blocker) release() { b.open.Do(func() { close(b.leave) }) }

// TestNoChangeWaitsForTheLogOrACallback blocks the log handler, the callback or
// the registry's log handler, and makes every kind of change.
func TestNoChangeWaitsForTheLogOrACallback(t *testing.T) {
	for _, what := range []string{"log", "callback", "registry's log"} {
		t.Run(what, func(t *testing.T) {
			b := newBlocker(t)
			blocking := slog.New(&callingHandler{Handler: slog.DiscardHandler, call: func(slog.Record) { b.block() }})
			ropts, copts := []registry.Option{}, []control.Option{control.StartupBaseline(baseline("job,pending"))}
			switch what {
			case "log":
				copts = append(copts, control.Logger(blocking))
			case "callback":
				copts = append(copts, control.OnChange(func(control.Change) { b.block() }))
			default:
				ropts = append(ropts, registry.Logger(blocking))
			}
			r := registry.New(ropts...)
			gate, db := new(spangate.Gate), new(spangate.Gate)
			require.NoError(t, r.Register(spangate.Gym, gate))
			c, err := control.New(r, copts...)
			require.NoError(t, err)
			require.False(t, control.Drain(c, 0))
			receive(t, "the first record", b.entered)

			within(t, "changes", func() {
				l, err := c.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox", TTL: time.Hour})
				assert.NoError(t, err)
				assert.NoError(t, c.Configure(baseline("also,pending")))
				assert.NoError(t, c.SetBaseline(baseline("step")))
				assert.NoError(t, c.SetLimits(control.Limits{Deny: "agent"}))
				assert.NoError(t, l.Renew(time.Minute))
				assert.NoError(t, r.Register(mydb, db))
				assert.NoError(t, r.Pin("nope"))
				r.SetSpec("unknown")
				control.LogRefusal(c)
				_, err = c.Lease(control.LeaseRequest{Owner: "me", Spec: "verify", TTL: time.Millisecond})
				assert.NoError(t, err)
			})
			require.Eventually(t, func() bool { return gate.Load() == spangate.MustParse("step,sandbox") }, 10*time.Second, time.Millisecond, "leases end")
			within(t, "Close", func() { assert.NoError(t, c.Close()) })
			require.Equal(t, "step", spangate.Gym.Format(gate.Load()))
			within(t, "changes after Close", func() {
				again, err := control.New(r)
				assert.NoError(t, err)
				assert.NoError(t, again.Close())
			})
			b.release()
			require.True(t, control.Drain(c, 10*time.Second), "the rest is logged")
		})
	}
}

func TestQueueIsBoundedAndReportsDrops(t *testing.T) {
	b, log := newBlocker(t), new(records)
	var seen []control.Change
	f := newFixture(t, control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})))
	require.Len(t, log.take(), 1)
	r := registry.New()
	require.NoError(t, r.Register(spangate.Lens, new(spangate.Gate)))
	c, err := control.New(r,
		control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})),
		control.OnChange(func(change control.Change) { b.block(); seen = append(seen, change) }))
	require.NoError(t, err)
	require.False(t, control.Drain(c, 0))
	receive(t, "the first change", b.entered)

	const extra = 100
	specs := []string{"job", "step"}
	for i := range control.MaxQueued + extra {
		require.NoError(t, c.SetBaseline(control.Baseline{Spec: specs[i%2], Who: fmt.Sprint(i)}))
	}
	require.EqualValues(t, extra, control.Dropped(c))
	require.Len(t, c.State().Changes, control.MaxChanges, "the state has the latest, dropped or not")
	require.Equal(t, fmt.Sprint(control.MaxQueued+extra-1), c.State().Changes[0].Who)
	b.release()
	require.True(t, control.Drain(c, time.Minute))
	require.NoError(t, c.SetBaseline(control.Baseline{Who: "last"}))
	require.True(t, control.Drain(c, time.Minute))

	require.Len(t, seen, 1+control.MaxQueued+1)
	for i, change := range seen[1 : 1+control.MaxQueued] {
		require.Equal(t, fmt.Sprint(i), change.Who, "the first are kept, in order")
	}
	require.Equal(t, "last", seen[1+control.MaxQueued].Who)
	logged := log.take()
	require.Len(t, logged, 1+control.MaxQueued+1+1)
	dropped := logged[1+control.MaxQueued]
	require.Equal(t, slog.LevelWarn, dropped.Level)
	require.Contains(t, dropped.Message, "records of the change log were dropped here")
	require.EqualValues(t, extra, attrsOf(dropped)["dropped"])
	require.NoError(t, c.Close())
	require.Zero(t, control.Dropped(f.Controller), "another controller's queue is its own")
}

// TestDropsAreReportedInTheirPlace drops records, logs one, and drops more.
func TestDropsAreReportedInTheirPlace(t *testing.T) {
	step := make(chan struct{}, 2)
	log := new(records)
	f := newFixture(t, control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})))
	log.take()
	entered := make(chan struct{}, 2)
	waits := func() { entered <- struct{}{}; <-step }
	control.Put(f.Controller, waits)
	receive(t, "the queue", entered)
	fill := func(n int) {
		for range n {
			control.Put(f.Controller, func() {})
		}
	}
	control.Put(f.Controller, waits)
	fill(control.MaxQueued + 6) // 7 too many
	step <- struct{}{}
	receive(t, "the queue", entered) // one place is free, for a report and a function
	fill(2)                          // 1 too many
	require.EqualValues(t, 7+1, control.Dropped(f.Controller))
	step <- struct{}{}
	require.True(t, control.Drain(f.Controller, 10*time.Second))
	var dropped []any
	for _, r := range log.take() {
		dropped = append(dropped, attrsOf(r)["dropped"])
	}
	require.Equal(t, []any{int64(7), int64(1)}, dropped)
}

func TestFirstCallbackComesAfterNewHasReturned(t *testing.T) {
	t.Run("with the first change", func(t *testing.T) {
		for range 200 {
			var c *control.Controller // the callback reads it, so the race detector finds a call before New returns
			var calls list
			var err error
			c, err = control.New(registry.New(), control.OnChange(func(change control.Change) {
				_ = c.State()
				calls.add(string(change.Kind))
			}))
			require.NoError(t, err)
			require.NoError(t, c.SetBaseline(control.Baseline{Spec: "later", AllowPending: true}))
			require.NoError(t, c.Close())
			require.True(t, control.Drain(c, 10*time.Second))
			require.Equal(t, []string{"baseline", "baseline", "close"}, calls.get())
		}
	})
	t.Run("or by itself", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls list
			r := registry.New()
			c, err := control.New(r, control.OnChange(func(change control.Change) { calls.add(string(change.Kind)) }))
			require.NoError(t, err)
			r.SetSpec("job") // others change the registry while New is busy, too
			synctest.Wait()
			require.Empty(t, calls.get())
			sleep(100 * time.Millisecond)
			require.Equal(t, []string{"baseline", "registry"}, calls.get())
			require.NoError(t, c.Close())
		})
	})
}

func TestCloseMayBeCalledByACallback(t *testing.T) {
	for _, how := range []string{"itself", "a goroutine that it waits for"} {
		t.Run(how, func(t *testing.T) {
			var c atomic.Pointer[control.Controller]
			var calls list
			closed := make(chan struct{})
			made, err := control.New(registry.New(), control.OnChange(func(change control.Change) {
				calls.add(string(change.Kind) + " " + change.Who)
				if change.Who != "go" {
					return
				}
				if how == "itself" {
					assert.NoError(t, c.Load().Close())
				} else {
					var other sync.WaitGroup
					other.Go(func() { assert.NoError(t, c.Load().Close()) })
					other.Wait()
				}
				close(closed)
			}))
			require.NoError(t, err)
			c.Store(made)
			require.NoError(t, made.SetBaseline(control.Baseline{Who: "go"}))
			require.NoError(t, made.SetBaseline(control.Baseline{Who: "after"}))
			receive(t, "Close", closed)
			require.True(t, control.Drain(made, 10*time.Second))
			require.Equal(t, []string{"baseline program", "baseline go", "baseline after", "close program"}, calls.get())
			require.ErrorIs(t, made.SetBaseline(baseline("")), control.ErrClosed)
		})
	}
}

func TestCloseWaitsForTheQueueAtMostATenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls list
		c, err := control.New(registry.New(), control.OnChange(func(change control.Change) {
			time.Sleep(40 * time.Millisecond)
			calls.add(change.Who)
		}))
		require.NoError(t, err)
		for i := range 5 {
			require.NoError(t, c.SetBaseline(control.Baseline{Who: fmt.Sprint(i)}))
		}
		begun := time.Now()
		require.NoError(t, c.Close())
		require.Equal(t, 100*time.Millisecond, time.Since(begun), "no longer than a tenth of a second")
		synctest.Wait()
		require.Equal(t, []string{"program", "0"}, calls.get())
		sleep(time.Second)
		require.Equal(t, []string{"program", "0", "1", "2", "3", "4", "program"}, calls.get())
	})
	synctest.Test(t, func(t *testing.T) {
		var calls list
		c, err := control.New(registry.New(), control.OnChange(func(change control.Change) {
			time.Sleep(40 * time.Millisecond)
			calls.add(string(change.Kind))
		}))
		require.NoError(t, err)
		begun := time.Now()
		require.NoError(t, c.Close())
		require.Equal(t, 80*time.Millisecond, time.Since(begun), "no longer than it takes")
		require.Equal(t, []string{"baseline", "close"}, calls.get())
	})
}

func TestChangeOfTheRegistryIsReportedWithoutOneOfTheController(t *testing.T) {
	r, kinds := registry.New(), make(chan control.ChangeKind, 2)
	c, err := control.New(r, control.OnChange(func(change control.Change) { kinds <- change.Kind }))
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, control.KindBaseline, receive(t, "the first change", kinds))
	require.True(t, control.Drain(c, 10*time.Second))
	r.SetSpec("job")
	require.Equal(t, control.KindRegistry, receive(t, "the change of the registry", kinds))
}

func TestNoGoroutineOutlivesTheLastRecord(t *testing.T) {
	b := newBlocker(t)
	before := goleak.IgnoreCurrent()
	c, err := control.New(registry.New(), control.OnChange(func(control.Change) { b.block() }))
	require.NoError(t, err)
	require.NoError(t, c.SetBaseline(baseline("")))
	receive(t, "the callback", b.entered)
	require.NoError(t, c.Close())
	require.Error(t, goleak.Find(before), "the blocked callback has one")
	b.release()
	require.NoError(t, goleak.Find(before))

	c, err = control.New(registry.New())
	require.NoError(t, err)
	require.True(t, control.Drain(c, 10*time.Second))
	require.NoError(t, goleak.Find(before), "a controller whose queue is empty has none, closed or not")
	require.NoError(t, c.Close())
}

func TestPanicOfACallbackIsLogged(t *testing.T) {
	log := new(records)
	var seen []string
	f := newFixture(t,
		control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})),
		control.OnChange(func(control.Change) { panicDeep(100) }),
		control.OnChange(func(control.Change) { runtime.Goexit() }), // as FailNow does
		control.OnChange(func(change control.Change) { seen = append(seen, change.Who) }),
	)
	log.take()
	require.NoError(t, f.SetBaseline(control.Baseline{Spec: "job", Who: "a"}))
	require.NoError(t, f.SetBaseline(control.Baseline{Spec: "step", Who: "b"}))
	require.Equal(t, "step", f.on())
	require.Len(t, f.changes.take(), 2, "the callback before it")
	require.Empty(t, seen, "the callbacks after a goroutine that ended itself")
	logged := log.take()
	require.Len(t, logged, 4)
	for i := range 2 {
		require.Equal(t, slog.LevelInfo, logged[2*i].Level)
		panicked := logged[2*i+1]
		require.Equal(t, slog.LevelError, panicked.Level)
		require.Contains(t, panicked.Message, "a callback of the controller panicked")
		attrs := attrsOf(panicked)
		require.Equal(t, strings.Repeat("boom", 64)+"…", attrs["panic"])
		require.Contains(t, attrs["stack"], "queue_test.go")
		require.Len(t, attrs["stack"], 4096, "bounded")
	}
}

// panicDeep panics with a long stack.
func panicDeep(n int) {
	if n == 0 {
		panic(strings.Repeat("boom", 1000))
	}
	panicDeep(n - 1)
}

func TestPanicOfTheLogHandlerDropsOneRecord(t *testing.T) {
	panicking := true
	f := newFixture(t, control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: func(slog.Record) {
		if panicking {
			panic("disk full")
		}
	}})))
	require.EqualValues(t, 1, control.Dropped(f.Controller))
	require.NoError(t, f.SetBaseline(baseline("job")))
	require.Equal(t, []string{"job"}, f.changes.one(t).New)
	require.EqualValues(t, 2, control.Dropped(f.Controller))
	panicking = false
	require.NoError(t, f.SetBaseline(baseline("step")))
	require.Equal(t, []string{"step"}, f.changes.one(t).New)
	require.EqualValues(t, 2, control.Dropped(f.Controller))
}

func TestRecordsHaveTheTimeOfTheChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(records)
		f := newFixture(t,
			control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})),
			control.OnChange(func(control.Change) { time.Sleep(time.Second) }))
		log.take()
		var made []time.Time
		for range 3 {
			made = append(made, time.Now())
			require.NoError(t, f.SetBaseline(baseline("job")))
			sleep(time.Millisecond)
		}
		sleep(time.Minute)
		var logged []time.Time
		for _, r := range log.take() {
			logged = append(logged, r.Time.Round(0))
		}
		for i := range made {
			require.True(t, made[i].Equal(logged[i]), "%v, not %v", made[i], logged[i])
		}
		require.NoError(t, f.Controller.Close())
		sleep(time.Minute)
	})
}

// disabledHandler is a handler that is enabled for no level.
type disabledHandler struct{ slog.Handler }

func (disabledHandler) Enabled(context.Context, slog.Level) bool { return false }
func (disabledHandler) Handle(context.Context, slog.Record) error {
	panic("Handle was called although Enabled said no")
}

func TestHandlerThatIsNotEnabledGetsNothing(t *testing.T) {
	f := newFixture(t, control.Logger(slog.New(disabledHandler{slog.DiscardHandler})))
	require.NoError(t, f.SetBaseline(baseline("job")))
	f.changes.take()
	require.Zero(t, control.Dropped(f.Controller))
}

func TestLoggedRefusalsAreLimitedPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(records)
		f := newFixture(t, control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})))
		log.take()
		refuse := func(n int) []slog.Record {
			for range n {
				control.LogRefusal(f.Controller, slog.String("from", "192.0.2.1"))
			}
			require.True(t, control.Drain(f.Controller, time.Minute))
			return log.take()
		}
		refused := refuse(100)
		require.Len(t, refused, control.MaxRefusals)
		for _, r := range refused {
			require.Equal(t, slog.LevelWarn, r.Level)
			require.Equal(t, "spangate: a request to change what is on was refused", r.Message)
			require.Equal(t, map[string]any{"from": "192.0.2.1"}, attrsOf(r))
		}
		sleep(time.Second - 1)
		require.Empty(t, refuse(1))
		sleep(1)
		refused = refuse(2)
		require.Len(t, refused, 2)
		require.Equal(t, map[string]any{"from": "192.0.2.1", "suppressed": int64(100 - control.MaxRefusals + 1)}, attrsOf(refused[0]))
		require.Equal(t, map[string]any{"from": "192.0.2.1"}, attrsOf(refused[1]))
		require.Len(t, refuse(100), control.MaxRefusals-2)

		sleep(time.Second)
		refuse(control.MaxRefusals + 1)
		sleep(time.Second)
		require.EqualValues(t, 1, attrsOf(refuse(1)[0])["suppressed"])

		sleep(time.Hour)
		require.NoError(t, f.SetBaseline(baseline("job")))
		control.LogRefusal(f.Controller)
		require.NoError(t, f.SetBaseline(baseline("step")))
		f.changes.take()
		var levels []slog.Level
		for _, r := range log.take() {
			levels = append(levels, r.Level)
		}
		require.Equal(t, []slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelInfo}, levels, "in the order of the changes")

		require.NoError(t, f.Controller.Close())
		log.take()
		require.Empty(t, refuse(1), "a closed controller logs nothing")
		control.LogRefusal(nil)
		control.LogRefusal(new(control.Controller))
	})
}

func TestOneControllerForARegistry(t *testing.T) {
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Gym, &gate))
	first, err := control.New(r, control.StartupBaseline(baseline("job")))
	require.NoError(t, err)
	before := r.State()
	second, err := control.New(r, control.StartupBaseline(baseline("all")))
	require.ErrorIs(t, err, control.ErrControlled)
	require.EqualError(t, err, "spangate/control: new: registry has a controller: use that controller, or close it first")
	require.Nil(t, second)
	require.Equal(t, before, r.State())
	for _, opt := range []control.Option{control.MaxLeases(0), control.Deny(tooLong)} {
		_, err := control.New(registry.New(), opt)
		require.Error(t, err)
	}

	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	second, err = control.New(r, control.StartupBaseline(baseline("step")))
	require.NoError(t, err)
	require.NoError(t, first.Close(), "the closed controller does not release the second")
	require.ErrorIs(t, first.SetBaseline(baseline("all")), control.ErrClosed)
	require.Equal(t, "step", spangate.Gym.Format(gate.Load()))
	_, err = control.New(r)
	require.ErrorIs(t, err, control.ErrControlled)
	require.NoError(t, second.Close())
}

func TestRefusedNewLeavesTheRegistryFree(t *testing.T) {
	r := registry.New()
	r.SetSpec("job")
	for _, opt := range []control.Option{control.MaxLeases(0), control.MaxTTL(0), control.Ceiling(tooLong), control.Metrics((*nilProvider)(nil))} {
		_, err := control.New(r, opt)
		require.Error(t, err)
	}
	c, err := control.New(r)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// TestConcurrentNewMakesOneController makes and closes controllers concurrently.
func TestConcurrentNewMakesOneController(t *testing.T) {
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Gym, &gate))
	var live, made atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				c, err := control.New(r, control.StartupBaseline(baseline("job")))
				if err != nil {
					assert.ErrorIs(t, err, control.ErrControlled)
					runtime.Gosched()
					continue
				}
				assert.EqualValues(t, 1, live.Add(1))
				made.Add(1)
				assert.Equal(t, "job", spangate.Gym.Format(gate.Load()))
				live.Add(-1)
				assert.NoError(t, c.Close())
			}
		})
	}
	all.Wait()
	require.Positive(t, made.Load())
	c, err := control.New(r)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestLeasesExpireWhileTheCallbackIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds list
		f := newFixture(t, control.OnChange(func(change control.Change) {
			time.Sleep(3 * time.Second)
			kinds.add(string(change.Kind))
		}))
		f.lease(t, "me", "job", time.Second)
		sleep(time.Second)
		require.Empty(t, f.on(), "a lease ends in time")
		sleep(time.Hour)
		require.Equal(t, []string{"baseline", "lease", "expiry"}, kinds.get())
		require.NoError(t, f.Controller.Close())
		sleep(time.Hour)
	})
}
