// SPDX-License-Identifier: Apache-2.0

package control

import (
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// Controller decides what is on in a [registry.Registry]: the baseline and the live leases,
// without what is denied, under the ceiling.
//
// Make one with [New]; it must not be copied. Every method may be called from any goroutine,
// by a logger or callback that the controller is calling as well. Changes are made one after
// the other, in one order with those of the registry; each gives each gate its new word with
// one Store, and none if the word stays. When a change returns, every gate shows it, or a
// later one.
//
// A registry has one controller. Who calls SetSpec or Pin on the registry itself gets what
// they ask for until the controller's next change, the end of a lease included: then what
// the controller has is on again. The change log shows both.
type Controller struct {
	registry *registry.Registry
	options  options
	instance string // tells this controller's generations from those of any other
	metrics  metrics
	unsee    func()
	view     atomic.Pointer[view]
	done     chan struct{} // closed by Close

	// What follows is guarded by the registry's lock: it is touched in update and see alone,
	// which hold it.

	wanted    wanted
	byID      map[string]*lease
	specs     counts      // of what leases add
	quiets    counts      // of what leases quiet
	leasesLen int         // the sum of their len
	timer     *time.Timer // runs expire at the end of the first lease; nil before there is one
	cause     *cause      // of the change that is being made
	closed    bool
}

// wanted is what the controller has been asked for. It is an immutable value: a change makes
// another one of it.
type wanted struct {
	baseline, startup Baseline
	deny, ceiling     string
	leases            leases
}

// author is who asks for a change, and on what condition.
type author struct {
	who   string
	match func(generation string) bool // nil for any
}

// New returns a controller that decides what is on in r from now on, beginning with the
// baseline of [Start] and no lease. A spec or pin that was set on r before is replaced. New
// does not notice another controller of r: there must be none.
//
// The error is an [*Error] for [ErrNilRegistry] or [ErrOption], a [*spangate.ParseError] for
// a spec that is too long, or one of the meter provider's.
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
	now := r.State()
	c.view.Store(&view{state: now, enabled: now.Enabled()})
	if err := c.metrics.observe(c); err != nil {
		return nil, err
	}
	c.unsee = r.Observe(c.see)
	return c, c.update(author{}, func(time.Time) (cause, error) {
		c.wanted = wanted{baseline: o.start, startup: o.start, deny: o.deny, ceiling: o.ceiling}
		return cause{wire.KindBaseline, o.start.Who, o.start.Why}, nil
	})
}

// update makes one change. change checks what is asked for, and if nothing is wrong with it
// makes it in the fields of c; if it returns an error it has changed nothing.
func (c *Controller) update(by author, change func(at time.Time) (cause, error)) error {
	return c.registry.Update(func(now registry.State) (registry.Plan, error) {
		if c.closed {
			return registry.Plan{}, &Error{Op: "change", Err: because(ErrClosed, "make another controller")}
		}
		if by.match != nil && !by.match(c.tag(now.Generation())) {
			return registry.Plan{}, errStale
		}
		at := time.Now()
		why, err := change(at)
		c.arm(at)
		if err != nil {
			return registry.Plan{}, err
		}
		c.cause = &why
		return c.plan(), nil
	})
}

// plan returns what is wanted in the registry's terms.
func (c *Controller) plan() registry.Plan {
	return registry.Plan{
		Baseline: c.wanted.baseline.Spec,
		Quiet:    slices.Collect(maps.Keys(c.quiets)),
		Specs:    slices.Collect(maps.Keys(c.specs)),
		Deny:     c.wanted.deny,
		Ceiling:  c.wanted.ceiling,
	}
}

// tag returns a generation as it is shown: no two states have the same one, of whatever
// process they are.
func (c *Controller) tag(generation uint64) string {
	return c.instance + "-" + strconv.FormatUint(generation, 10)
}

// generation returns the one that State shows.
func (c *Controller) generation() string { return c.tag(c.view.Load().state.Generation()) }

// Close ends every lease, so that the baseline is on, and every [FileWatch] of c. c changes
// nothing from then on: its changes are refused with [ErrClosed], its State stays as it is,
// and the registry keeps the baseline until somebody sets something else. Close waits for
// nobody, so that a callback may call it. To close again does nothing.
func (c *Controller) Close() error {
	err := c.update(author{}, func(time.Time) (cause, error) {
		c.drop(c.wanted.leases...)
		c.closed = true
		close(c.done)
		return cause{wire.KindClose, program, "the controller was closed"}, nil
	})
	if err != nil { // it is closed already
		return nil
	}
	c.unsee()
	return c.metrics.unregister()
}
