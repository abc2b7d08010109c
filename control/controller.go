// SPDX-License-Identifier: Apache-2.0

package control

import (
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// Controller decides what is on in a [registry.Registry]: the baseline, without what leases
// quiet, and what leases add, without what is denied, under the ceiling.
//
// Make one with [New]; it must not be copied. The methods of a nil or zero Controller return
// [ErrNilController]. Every method may be called from any goroutine, and by a logger or
// callback that the controller is calling. Changes are made one after the other, in one order
// with those of the registry; each gives each gate its new word with one Store, and none if
// the word stays. When a change returns, every gate shows it, or a later one.
//
// # The change log
//
// A goroutine of the controller logs the records and calls the callbacks of [OnChange], in the
// order of the changes: no change waits for a log handler or a callback. Up to 4096 records
// wait; more are dropped. A record in their place has their number, and [Metrics] counts them.
// The registry's own records take the same way. A panic of a callback is logged with its stack;
// a record whose log handler panics counts as dropped.
//
// # Changes past the controller
//
// A registry has one controller at a time. A spec that the program sets on the registry itself,
// with SetSpec, holds until the next change by the controller, which the end of a lease is too:
// then the controller's set is on again. A [registry.Registry.Pin] holds until SetSpec is
// called: until then the controller's changes turn nothing on or off. The first change after
// the SetSpec puts the controller's set in force again. The change log shows both.
type Controller struct {
	registry *registry.Registry
	control  *registry.Control
	options  options
	instance string // tells this controller's generations from those of any other
	metrics  *metrics
	view     atomic.Pointer[view]
	log      queue
	refusals refusals
	done     chan struct{} // closed by Close

	// The registry's lock guards the fields below: only functions that the registry calls with
	// the lock held use them.

	wanted    wanted
	byID      map[string]*lease
	specs     counts      // of what leases add
	quiets    counts      // of what leases quiet
	leasesLen int         // the sum of their len
	timer     *time.Timer // runs expire at the end of the first lease; nil before there is one
}

// wanted is the intent of a controller. Its leases are immutable, so that a copy is a snapshot.
type wanted struct {
	baseline, startup Baseline
	deny, ceiling     string
	leases            leases
}

// author is who makes a change, and on which generation.
type author struct {
	who   string                       // empty if the change itself says
	match func(generation string) bool // nil for any generation
}

// startDelay is how long after New the change log begins, unless a change is made with the
// controller before.
const startDelay = 100 * time.Millisecond

// New returns a controller that decides what is on in r from now on, beginning with the
// baseline of [Start] and no lease. A spec that was set on r before is replaced; a pin holds.
//
// The error is an [*Error] for [ErrNilRegistry], for [ErrOption], or for [ErrControlled] if r
// has a controller that has not been closed; a [*spangate.ParseError] for a spec that is too
// long, or one of the meter provider's. Nothing is changed then.
func New(r *registry.Registry, opts ...Option) (*Controller, error) {
	if r == nil {
		return nil, &Error{Op: "new", Err: because(ErrNilRegistry, "pass the one that the libraries register with, as registry.Default()")}
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	instruments, err := newMetrics(o.meters)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		registry: r,
		options:  o,
		metrics:  instruments,
		instance: strings.ToLower(rand.Text()[:8]),
		done:     make(chan struct{}),
		byID:     make(map[string]*lease),
		specs:    make(counts),
		quiets:   make(counts),
	}
	c.log.report, c.log.held = c.missed, true
	now := r.State()
	c.view.Store(&view{state: now, enabled: now.Enabled()})
	c.control, err = r.Control(c.see, func(report func()) { c.log.put(func() { c.report(report) }) })
	if err != nil {
		return nil, &Error{Op: "new", Err: because(ErrControlled, "use that controller, or close it first")}
	}
	if err := c.metrics.observe(c); err != nil {
		_ = c.control.Release(nil)
		return nil, err
	}
	err = c.control.Update(c.next(author{}, func(time.Time) (cause, error) {
		c.wanted = wanted{baseline: o.start, startup: o.start, deny: o.deny, ceiling: o.ceiling}
		return cause{wire.KindBaseline, o.start.Who, o.start.Why}, nil
	}))
	time.AfterFunc(startDelay, c.log.begin)
	return c, err
}

// update makes one change. It calls change with the registry's lock held. change must check the
// request and then apply it to the fields of c; if it returns an error, it must not have changed
// them.
func (c *Controller) update(by author, change func(at time.Time) (cause, error)) error {
	if err := c.usable(); err != nil {
		return err
	}
	c.log.begin()
	return c.open(c.control.Update(c.next(by, change)))
}

// next returns the function for [registry.Control.Update] that makes a change.
func (c *Controller) next(by author, change func(at time.Time) (cause, error)) func(registry.State) (registry.Plan, any, error) {
	return func(now registry.State) (registry.Plan, any, error) {
		if by.match != nil && !by.match(c.tag(now.Generation())) {
			return registry.Plan{}, nil, errStale
		}
		at := time.Now()
		why, err := change(at)
		c.arm(at)
		if err != nil {
			return registry.Plan{}, nil, err
		}
		return c.plan(), why, nil
	}
}

// open returns err, or an error for ErrClosed if err says that c is closed.
func (c *Controller) open(err error) error {
	if errors.Is(err, registry.ErrReleased) {
		return &Error{Op: "change", Err: because(ErrClosed, "make another controller")}
	}
	return err
}

// usable returns an error for a nil or zero controller.
func (c *Controller) usable() error {
	if c == nil || c.control == nil {
		return &Error{Op: "change", Err: because(ErrNilController, "make one with control.New")}
	}
	return nil
}

// plan returns the plan for the registry.
func (c *Controller) plan() registry.Plan {
	return registry.Plan{
		Baseline: c.wanted.baseline.Spec,
		Quiet:    slices.Collect(maps.Keys(c.quiets)),
		Specs:    slices.Collect(maps.Keys(c.specs)),
		Deny:     c.wanted.deny,
		Ceiling:  c.wanted.ceiling,
	}
}

// tag returns a generation as text for clients. It differs between any two states, of different
// processes too.
func (c *Controller) tag(generation uint64) string {
	return c.instance + "-" + strconv.FormatUint(generation, 10)
}

// generation returns the one that State shows.
func (c *Controller) generation() string { return c.tag(c.view.Load().state.Generation()) }

// closeDelay is how long Close waits for the change log.
const closeDelay = 100 * time.Millisecond

// Close ends every lease, so that the baseline is on, and every [FileWatch] of c, and frees
// the registry, which keeps the baseline until something else is set and can have another
// controller. From then on changes of c are refused with [ErrClosed], and its State stays as
// it is. To close again makes no change.
//
// Close waits until all records of the change log, that of the closing included, are logged and
// passed to the callbacks, but not longer than a tenth of a second: so a callback may call it.
// The goroutine of the change log goes on with the rest, and ends after the last record, unless
// a log handler or a callback never returns. The error is one of the meter provider's, or an
// [*Error] for [ErrNilController].
func (c *Controller) Close() error {
	if err := c.usable(); err != nil {
		return err
	}
	err := c.control.Release(c.next(author{}, func(time.Time) (cause, error) {
		c.drop(c.wanted.leases...)
		close(c.done)
		return cause{wire.KindClose, program, "the controller was closed"}, nil
	}))
	if err == nil {
		err = c.metrics.unregister()
	} else { // it was closed before
		err = nil
	}
	c.log.begin()
	c.log.wait(closeDelay)
	return err
}
