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
	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/registry"
)

// Change is one entry of the change log: what was on, what is on, who changed it and why.
// Its fields are those of [wire.Change].
type Change = wire.Change

// cause says what made a change. Every update returns one.
type cause struct{ kind, who, why string }

// maxChanges is how many changes State shows. Each names all that is on, twice.
const maxChanges = 20

// byRegistry is the who of a change that was made with a method of the registry.
const byRegistry = "registry"

// see is called for every change of the registry, with its lock held.
func (c *Controller) see(ch registry.Change) {
	at, why, v := time.Now(), causeOf(ch), c.view.Load()
	before := v.enabled
	if v.state != ch.Old {
		before = ch.Old.Enabled()
	}
	after := ch.New.Enabled()
	if slices.Equal(before, after) {
		after = before // so that what waits in the queue is small
	}
	change := Change{
		Generation: c.tag(ch.New.Generation()),
		Time:       at.UTC().Truncate(time.Millisecond),
		Kind:       why.kind, Who: why.who, Why: why.why,
		Old: before, New: after,
	}
	recent := v.changes[:min(len(v.changes), maxChanges-1)]
	c.view.Store(&view{
		state: ch.New, wanted: c.wanted, enabled: after,
		changes: slices.Concat([]Change{change}, recent),
	})
	c.metrics.count(change.Kind)
	c.log.put(func() { c.tell(at, change) })
}

func causeOf(ch registry.Change) cause {
	switch ch.Op {
	case registry.OpUpdate:
		return ch.Cause.(cause)
	case registry.OpRegister:
		return cause{wire.KindNamespaces, byRegistry, ch.Namespace + " registered"}
	case registry.OpReplace:
		return cause{wire.KindNamespaces, byRegistry, ch.Namespace + " replaced"}
	case registry.OpUnregister:
		return cause{wire.KindNamespaces, byRegistry, ch.Namespace + " unregistered"}
	case registry.OpPin:
		return cause{wire.KindRegistry, byRegistry, "Pin was called on the registry itself; it holds until SetSpec"}
	default:
		return cause{wire.KindRegistry, byRegistry, "SetSpec was called on the registry itself"}
	}
}

// tell logs a change and calls the callbacks. It runs in the queue.
func (c *Controller) tell(at time.Time, change Change) {
	c.record(at, slog.LevelInfo, "spangate: spans changed",
		slog.String("generation", change.Generation), slog.String("kind", change.Kind),
		slog.String("who", change.Who), slog.String("why", change.Why),
		slog.Any("old", slices.Clone(change.Old)), slog.Any("new", slices.Clone(change.New)))
	for _, fn := range c.options.onChange {
		c.protect(func() { fn(clone(change)) }, c.panicked)
	}
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
	c.protect(log, func(any, []byte) { c.log.dropped.Add(1) })
}

// protect calls fn, and if fn panics calls panicked. A panic on a goroutine of the controller
// would end the process, where no caller can recover it.
func (c *Controller) protect(fn func(), panicked func(value any, stack []byte)) {
	defer func() {
		if value := recover(); value != nil {
			panicked(value, debug.Stack())
		}
	}()
	fn()
}

// panicked reports that a callback panicked.
func (c *Controller) panicked(value any, stack []byte) {
	const maxStack = 4096
	c.record(time.Now(), slog.LevelError, "spangate: a callback of the controller panicked; the others are called, and so is this one for the next change",
		slog.String("panic", spec.Head(fmt.Sprint(value))), slog.String("stack", string(stack[:min(len(stack), maxStack)])))
}

// missed reports that n records were dropped.
func (c *Controller) missed(n int) {
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

// clone returns change with slices of its own.
func clone(change Change) Change {
	change.Old, change.New = slices.Clone(change.Old), slices.Clone(change.New)
	return change
}

// minus returns what is in a and not in b, both sorted.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool {
		_, found := slices.BinarySearch(b, name)
		return found
	})
}
