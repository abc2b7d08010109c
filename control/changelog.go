// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
)

// ChangeKind says what changed.
type ChangeKind string

// The kinds of a [Change].
const (
	KindBaseline   ChangeKind = wire.KindBaseline   // another baseline, or back to that of start-up
	KindLease      ChangeKind = wire.KindLease      // a lease was granted
	KindRenewal    ChangeKind = wire.KindRenewal    // a lease ends later, or sooner
	KindRelease    ChangeKind = wire.KindRelease    // a lease was released
	KindExpiry     ChangeKind = wire.KindExpiry     // the time of leases has passed
	KindLimits     ChangeKind = wire.KindLimits     // another deny list or ceiling
	KindNamespaces ChangeKind = wire.KindNamespaces // a namespace was registered, replaced or unregistered
	KindRegistry   ChangeKind = wire.KindRegistry   // the registry's own SetSpec or Pin was called
	KindClose      ChangeKind = wire.KindClose      // the controller was closed
)

var kinds = []ChangeKind{KindBaseline, KindLease, KindRenewal, KindRelease, KindExpiry, KindLimits, KindNamespaces, KindRegistry, KindClose}

// Change is one entry of the change log.
type Change struct {
	// Generation is the one that the change made, as in [State.Generation].
	Generation string
	// Time is when it was made, in UTC, in milliseconds.
	Time time.Time
	Kind ChangeKind
	// Who made it, and why, in words; Why may be empty.
	Who, Why string
	// Old and New have the groups that were on before and after, sorted.
	Old, New []string
}

// maxChanges is how many changes State shows. Each names all that is on, twice.
const maxChanges = 20

// publish makes g, the registry's new generation, the one that State shows, with this intent, and
// queues its records. It is called with the registry's lock held.
func (c *Controller) publish(g plan.Generation, in intent) {
	at, by, old := time.Now(), g.Cause(), c.view.Load()
	enabled := g.Enabled()
	if slices.Equal(old.enabled, enabled) {
		enabled = old.enabled // so that what waits in the queue is small
	}
	change := Change{
		Generation: c.tag(g.Number()), Time: shown(at),
		Kind: ChangeKind(by.Kind), Who: by.Who, Why: by.Why,
		Old: old.enabled, New: enabled,
	}
	latest := old.changes[:min(len(old.changes), maxChanges-1)]
	c.view.Store(&view{Generation: g, intent: in, enabled: enabled, changes: slices.Concat([]Change{change}, latest)})
	c.metrics.count(change.Kind)
	c.log.put(func() { c.reportChange(at, change) })
	for _, record := range c.control.Records() {
		c.log.put(func() { c.report(record) })
	}
}

// reportChange logs a change and calls the callbacks. It runs in the queue.
func (c *Controller) reportChange(at time.Time, change Change) {
	c.record(at, slog.LevelInfo, "spangate: spans changed",
		slog.String("generation", change.Generation), slog.String("kind", string(change.Kind)),
		slog.String("who", change.Who), slog.String("why", change.Why),
		slog.Any("old", slices.Clone(change.Old)), slog.Any("new", slices.Clone(change.New)))
	for _, fn := range c.options.onChange {
		protect(func() { fn(change.clone()) }, c.reportPanic)
	}
}

// clone returns change with slices of its own.
func (change Change) clone() Change {
	change.Old, change.New = slices.Clone(change.Old), slices.Clone(change.New)
	return change
}

// record logs a record. at is the time of the event, which is earlier than the call. It runs in
// the queue.
func (c *Controller) record(at time.Time, level slog.Level, message string, attrs ...slog.Attr) {
	c.report(func() {
		ctx, handler := context.Background(), c.logger().Handler()
		if !handler.Enabled(ctx, level) {
			return
		}
		r := slog.NewRecord(at, level, message, 0)
		r.AddAttrs(attrs...)
		_ = handler.Handle(ctx, r) // as slog does
	})
}

// report calls log, which logs a record. If the log handler panics, the record counts as
// dropped. It runs in the queue.
func (c *Controller) report(log func()) {
	protect(log, func(any, []byte) { c.log.dropped.Add(1) })
}

// protect calls fn, and if fn panics calls panicked. A panic on a goroutine of the controller
// would end the process, where no caller can recover it.
func protect(fn func(), panicked func(value any, stack []byte)) {
	defer func() {
		if value := recover(); value != nil {
			panicked(value, debug.Stack())
		}
	}()
	fn()
}

// reportPanic reports that a callback panicked.
func (c *Controller) reportPanic(value any, stack []byte) {
	const maxStack = 4096
	c.record(time.Now(), slog.LevelError, "spangate: a callback of the controller panicked; the others are called, and so is this one for the next change",
		slog.String("panic", spec.Head(fmt.Sprint(value))), slog.String("stack", string(stack[:min(len(stack), maxStack)])))
}

// reportDropped reports that n records were dropped.
func (c *Controller) reportDropped(n int) {
	c.record(time.Now(), slog.LevelWarn, "spangate: records of the change log were dropped here, since the log handler or a callback is slow",
		slog.Int("dropped", n))
}

// maxRefusals is how many refusals are logged a second.
const maxRefusals = 5

// refusals limits the records about refused requests. The zero value is ready to use.
type refusals struct {
	mu         sync.Mutex
	since      time.Time // the beginning of the current second
	logged     int       // in that second
	suppressed int       // refusals that were not logged since the last one that was
}

// admit reports whether a refusal at this time must be logged, and if so how many before it
// were not.
func (r *refusals) admit(at time.Time) (suppressed int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Sub(r.since) >= time.Second {
		r.since, r.logged = at, 0
	}
	if r.logged == maxRefusals {
		r.suppressed++
		return 0, false
	}
	r.logged++
	suppressed, r.suppressed = r.suppressed, 0
	return suppressed, true
}

// logRefusal queues a record of a request that the endpoint refused, in the order of the
// changes. At most maxRefusals are logged in a second; the next record has the number of those
// that were not. The caller bounds attrs. After Close nothing is logged.
func (c *Controller) logRefusal(attrs ...slog.Attr) {
	if c.usable() != nil {
		return
	}
	select {
	case <-c.done:
		return
	default:
	}
	at := time.Now()
	suppressed, ok := c.refusals.admit(at)
	if !ok {
		return
	}
	if suppressed > 0 {
		attrs = append(slices.Clone(attrs), slog.Int("suppressed", suppressed))
	}
	c.warn(at, "spangate: a request to change what is on was refused", attrs...)
}

// warn queues a record of level WARN, in the order of the changes. at is the time of the event.
func (c *Controller) warn(at time.Time, message string, attrs ...slog.Attr) {
	c.log.put(func() { c.record(at, slog.LevelWarn, message, attrs...) })
	c.log.begin()
}

func (c *Controller) logger() *slog.Logger { return cmp.Or(c.options.logger, slog.Default()) }
