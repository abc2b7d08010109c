// SPDX-License-Identifier: Apache-2.0

package control

import (
	"log/slog"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// DefaultInterval is the time between two reads of a watched file without [Interval].
const DefaultInterval = defaultInterval

// ReadTimeout sets how long Reload waits for a file system that does not answer.
func ReadTimeout(d time.Duration) WatchOption { return func(o *watchOptions) { o.readTimeout = d } }

// Drain lets the change log begin, waits at most d until it is empty, and reports whether it is.
func Drain(c *Controller, d time.Duration) bool {
	c.queue.resume()
	return c.queue.wait(d)
}

// WithLock calls fn with the registry locked.
func WithLock(c *Controller, fn func()) {
	if t, err := c.begin(author{}); err == nil {
		defer t.end()
		fn()
	}
}

// StopTimer keeps leases from ending before the next change.
func StopTimer(c *Controller) {
	c.control.Begin()
	defer c.control.End()
	c.timer.Stop()
}

// LogRefusal logs a refusal as the endpoint does.
func LogRefusal(c *Controller, attrs ...slog.Attr) { c.logRefusal(attrs...) }

// Dropped returns how many records of the change log were dropped.
func Dropped(c *Controller) int64 { return c.queue.dropped.Load() }

const (
	MaxQueued   = maxQueued
	MaxRefusals = maxRefusals
	MaxChanges  = maxChanges
)

// Put queues fn in the change log.
func Put(c *Controller, fn func()) { c.queue.put(fn) }

// WireState returns s as the endpoint answers with it, except for Writable.
func WireState(s State) wire.State { return wireState(s) }

// Rate counts events of the current second.
type Rate = rate

// Take counts an event in this second, and reports whether it is within limit.
func Take(r *Rate, second int64, limit int) bool { return r.take(second, limit) }

// WithOverrides calls fn with the table of overrides locked, and the number of its entries.
func WithOverrides(c *Controller, fn func(n int)) {
	c.overrides.mu.Lock()
	defer c.overrides.mu.Unlock()
	fn(len(c.overrides.byID))
}
