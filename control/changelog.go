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

// The kinds of a [Change], as in package wire.
const (
	KindBaseline   ChangeKind = wire.KindBaseline
	KindLease      ChangeKind = wire.KindLease
	KindRenewal    ChangeKind = wire.KindRenewal
	KindRelease    ChangeKind = wire.KindRelease
	KindExpiry     ChangeKind = wire.KindExpiry
	KindLimits     ChangeKind = wire.KindLimits
	KindNamespaces ChangeKind = wire.KindNamespaces
	KindRegistry   ChangeKind = wire.KindRegistry
	KindClose      ChangeKind = wire.KindClose
)

// Change is one entry of the change log: what was on, what is on, who changed it and why, as in
// [wire.Change].
type Change struct {
	Generation string
	Time       time.Time // in UTC, in milliseconds
	Kind       ChangeKind
	Who, Why   string
	Old, New   []string
}

// maxChanges is how many changes State shows. Each names all that is on, twice. At most half of them are
// of namespaces, since a program makes many of these when it discovers scopes.
const maxChanges = 20

// withChange returns changes, which have the newest first, with a newer one.
func withChange(changes []Change, newest Change) []Change {
	var kept []Change
	namespaces := 0
	for _, c := range slices.Concat([]Change{newest}, changes) {
		if c.Kind == KindNamespaces {
			namespaces++
		}
		if len(kept) < maxChanges && (c.Kind != KindNamespaces || namespaces <= maxChanges/2) {
			kept = append(kept, c)
		}
	}
	return kept
}

// publish makes g, the registry's new generation, the one that State shows, with this intent, and
// queues its records. It is called with the registry's lock held.
func (c *Controller) publish(g plan.Generation, in intent) {
	at, by, old := time.Now(), g.Cause(), c.view.Load()
	enabled := g.Enabled()
	if slices.Equal(old.enabled, enabled) {
		enabled = old.enabled // shared, to keep the queued changes small
	}
	change := Change{
		Generation: fmt.Sprintf("%s-%d", c.instance, g.Number()), Time: utcMilli(at),
		Kind: ChangeKind(by.Kind), Who: by.Who, Why: by.Why,
		Old: old.enabled, New: enabled,
	}
	c.view.Store(&view{Generation: g, intent: in, enabled: enabled, changes: withChange(old.changes, change)})
	c.metrics.count(change.Kind)
	c.queue.put(func() { c.reportChange(at, change) })
	for _, record := range c.control.Records() {
		c.queue.put(func() { c.guard(record) })
	}
}

// reportChange logs a change and calls the callbacks. It runs in the queue.
func (c *Controller) reportChange(at time.Time, change Change) {
	c.record(at, slog.LevelInfo, "spangate: spans changed",
		slog.String("generation", change.Generation), slog.String("kind", string(change.Kind)),
		slog.String("who", change.Who), slog.String("why", change.Why),
		slog.Any("old", slices.Clone(change.Old)), slog.Any("new", slices.Clone(change.New)))
	for _, fn := range c.options.onChange {
		if panicked := protect(func() { fn(change.clone()) }); panicked != nil {
			c.record(time.Now(), slog.LevelError, "spangate: a callback of the controller panicked; the others are called, and so is this one for the next change", panicked...)
		}
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
	c.guard(func() {
		ctx, handler := context.Background(), cmp.Or(c.options.logger, slog.Default()).Handler()
		if !handler.Enabled(ctx, level) {
			return
		}
		r := slog.NewRecord(at, level, message, 0)
		r.AddAttrs(attrs...)
		_ = handler.Handle(ctx, r) // as slog does
	})
}

// guard calls log, which logs a record. If the log handler panics, the record counts as
// dropped. It runs in the queue.
func (c *Controller) guard(log func()) {
	if protect(log) != nil {
		c.queue.dropped.Add(1)
	}
}

// protect calls fn and returns the attrs of a record about its panic, or nil. A panic on a
// goroutine of the controller would end the process, where no caller can recover it.
func protect(fn func()) (panicked []slog.Attr) {
	const maxStack = 4096
	defer func() {
		if value := recover(); value != nil {
			stack := debug.Stack()
			panicked = []slog.Attr{slog.String("panic", spec.Head(fmt.Sprint(value))), slog.String("stack", string(stack[:min(len(stack), maxStack)]))}
		}
	}()
	fn()
	return nil
}

// maxRefusals is how many refusals are logged a second.
const maxRefusals = 5

// refusals limits the records about refused requests. The zero value is ready to use.
type refusals struct {
	mu    sync.Mutex
	since time.Time // the beginning of the current second
	n     int       // how many there were in that second
}

// logRefusal queues a record of a request that the endpoint refused. At most maxRefusals are
// logged in a second; a later record has the number of the others. The caller bounds
// attrs. After Close nothing is logged.
func (c *Controller) logRefusal(attrs ...slog.Attr) {
	if c.usable() != nil || c.closed.Err() != nil {
		return
	}
	at, r := time.Now(), &c.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Sub(r.since) >= time.Second {
		if r.n > maxRefusals {
			attrs = append(slices.Clone(attrs), slog.Int("suppressed", r.n-maxRefusals))
		}
		r.since, r.n = at, 0
	}
	if r.n++; r.n > maxRefusals {
		return
	}
	c.warn(at, "spangate: a request to change what is on was refused", attrs...)
}

// warn queues a record of level WARN, in the order of the changes. at is the time of the event.
func (c *Controller) warn(at time.Time, message string, attrs ...slog.Attr) {
	c.queue.put(func() { c.record(at, slog.LevelWarn, message, attrs...) })
	c.queue.resume()
}

// reportDropped logs that n records were dropped. It runs in the queue.
func (c *Controller) reportDropped(n int) {
	c.record(time.Now(), slog.LevelWarn, "spangate: records of the change log were dropped here, since the log handler or a callback is slow",
		slog.Int("dropped", n))
}
