// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/registry"
)

// Controller decides what is on in a [registry.Registry].
//
// Make one with [New]; it must not be copied. The methods of a nil or zero Controller return
// [ErrClosed], and its State is empty. Every method may be called from any goroutine, and by a
// logger or callback that the controller is calling. Changes are made one after the other, in
// one order with those of the registry; each gives each gate its new word with one Store, and
// none if the word stays. When a change returns, every gate shows it, or a later one.
//
// # The change log
//
// Every change is a record of level INFO, a call of each [OnChange] function and a count of
// [Metrics]: what was on, what is on, who changed it and why. A goroutine of the controller logs
// and calls, in the order of the changes, and no change waits for it. It logs the registry's
// records too, and requests that the endpoint refused, a few a second. Up to 4096 records wait;
// more are dropped, a record in their place has their number, and [Metrics] counts them. A panic
// of a callback is logged with its stack; a record whose log handler panics counts as dropped.
//
// # Changes of the registry itself
//
// A spec that the program sets on the registry itself, with SetSpec, holds until the next change
// by the controller, which the end of a lease is too. A [registry.Registry.Pin] holds until
// SetSpec is called: until then the controller's changes turn nothing on or off, and the first
// change after the SetSpec puts the controller's set in force again. The change log shows both.
type Controller struct {
	control  plan.Control
	options  options
	instance string // tells this controller's generations from those of any other
	metrics  metrics
	view     atomic.Pointer[view] // of the current generation; stored with the registry's lock held
	queue    queue
	refusals refusals
	samples  samples
	file     atomic.Pointer[File] // the immutable state of the watched file
	closed   context.Context      // done once Close has made its change; its cause is the error of later ones
	stop     context.CancelCauseFunc
	timer    *time.Timer // calls onTimer at the end of the first lease; the registry's lock guards it
}

const (
	// startDelay is how long after New the change log begins, if no change through the controller
	// starts it earlier.
	startDelay = 100 * time.Millisecond
	// closeDelay is how long Close waits for the change log.
	closeDelay = 100 * time.Millisecond
)

// New returns a controller of r. A spec that was set on r before is replaced; a pin holds.
//
// The error is an [*Error] for [registry.ErrNilRegistry], for [ErrControlled] if r has a
// controller that has not been closed, or for an option with a value that it can't have; a
// [*spangate.ParseError] for a spec that is too long; or one of the meter provider's. Nothing is
// changed then.
func New(r *registry.Registry, opts ...Option) (*Controller, error) {
	if r == nil {
		return nil, &Error{Op: "new", Err: because(registry.ErrNilRegistry, "pass the one that the libraries register with, as registry.Default()")}
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	c := &Controller{options: o, instance: strings.ToLower(rand.Text()[:8])}
	c.closed, c.stop = context.WithCancelCause(context.Background())
	c.queue.report, c.queue.held = c.reportDropped, true
	if err := c.metrics.register(c, o.meters); err != nil {
		return nil, err
	}
	c.startSampling() // calls the program, so not with the lock held
	control, now, err := plan.Attach(r, c.observe)
	if err != nil {
		c.stop(nil)
		_ = c.metrics.unregister()
		return nil, &Error{Op: "new", Err: because(ErrControlled, "use that controller, or close it first")}
	}
	defer control.End()
	c.control = control
	c.view.Store(&view{Generation: now, enabled: now.Enabled()})
	c.timer = time.AfterFunc(time.Hour, c.onTimer)
	c.timer.Stop() // until there is a lease
	t := &tx{c, time.Now(), intent{
		baseline: o.startup, startup: o.startup, deny: o.deny, ceiling: o.ceiling, specs: counts{}, quiets: counts{},
	}}
	t.commit(KindBaseline, o.startup.Who, o.startup.Why)
	time.AfterFunc(startDelay, c.queue.resume)
	return c, nil
}

// author is who makes a change. The change log names the first of these that is not empty: who, the
// who or owner in the request, address, the owner of a lease that exists, program.
type author struct {
	who     string   // from the authoriser
	address string   // of the client
	ifMatch []string // entity tags of the generations that the change may follow; nil for any
}

// tx is a change under way. The registry is locked from [Controller.begin] to end. Without a commit
// nothing is changed.
type tx struct {
	c      *Controller
	at     time.Time
	intent intent // a copy, which commit puts in force
}

// begin locks the registry until end is called, and ends the leases whose time has passed. The error
// is an [*Error] for [ErrClosed], or errStale.
func (c *Controller) begin(by author) (*tx, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	c.queue.resume()
	if _, ok := c.control.Begin(); !ok {
		return nil, &Error{Op: "change", Err: context.Cause(c.closed)}
	}
	t := &tx{c, time.Now(), c.view.Load().intent.clone()}
	t.expire()
	if by.ifMatch != nil && !matches(by.ifMatch, quote(c.view.Load().tag())) {
		t.end()
		return nil, errStale
	}
	return t, nil
}

// commit puts t.intent in force.
func (t *tx) commit(kind ChangeKind, who, why string) {
	t.c.publish(t.c.control.Commit(t.intent.plan(), plan.Cause{Kind: string(kind), Who: who, Why: why}), t.intent)
}

func (t *tx) end() {
	t.c.arm()
	t.c.control.End()
}

// observe gets each generation that the registry makes by its own methods, with its lock held.
func (c *Controller) observe(g plan.Generation) { c.publish(g, c.view.Load().intent) }

// usable returns an error for a nil or zero controller.
func (c *Controller) usable() error {
	if c == nil || c.control == nil {
		return &Error{Op: "change", Err: because(ErrClosed, "this controller is nil or zero; make one with control.New")}
	}
	return nil
}

// Close ends every lease and every [FileWatch] of c, and releases the registry: the baseline stays
// on until something else is set, and [New] can make another controller. From then on changes of c
// are refused with [ErrClosed], and its State stays as it is. A second Close makes no change.
//
// Close waits until all records of the change log, that of the closing included, are logged and
// passed to the callbacks, but not longer than a tenth of a second: so a callback may call it.
// The goroutine of the change log goes on with the rest, and ends after the last record, unless
// a log handler or a callback never returns. The error is one of the meter provider's, or an
// [*Error] for [ErrClosed] if c is nil or zero.
func (c *Controller) Close() error {
	if err := c.usable(); err != nil {
		return err
	}
	var failed error
	if t, err := c.begin(author{}); err == nil { // it is not closed yet
		t.drop(0, len(t.intent.leases))
		t.commit(KindClose, program, "the controller was closed")
		c.control.Release()
		c.stop(because(ErrClosed, "make another controller"))
		t.end()
		failed = c.metrics.unregister()
	}
	c.queue.resume()
	c.queue.wait(closeDelay)
	return failed
}
