// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// LeaseRequest asks for a lease.
type LeaseRequest struct {
	// Owner is whose lease it is: not blank, at most [MaxOwnerLen] bytes.
	Owner string
	// Spec is what is to be on besides what is on anyway. It may be empty.
	Spec string
	// TTL is how long the lease lives: more than nothing, at most [MaxTTL] says.
	TTL time.Duration
	// Why is for the change log and whoever wonders; at most [MaxWhyLen] bytes.
	Why string
	// AllowPending keeps names that nobody has registered until somebody does. Without
	// it they are an error.
	AllowPending bool
}

// Lease is a handle on a spec that is on for a limited time. It may be copied and used by
// any number of goroutines. Get one from [Controller.Lease]; the zero value belongs to no
// controller and must not be used.
type Lease struct {
	c  *Controller
	id string
}

// Lease adds req.Spec to what is on, until its time has passed or it is released. It takes
// back nothing but what it added: what the baseline or another lease asks for too, stays on.
//
// The time is that of the monotonic clock, which on most systems stands still while the
// machine is suspended. The error is a [*spangate.ParseError] for a spec with a name that
// nobody has registered, or an [*Error] for [ErrOwner], [ErrWhy], [ErrTTL],
// [ErrTooManyLeases] or [ErrClosed].
func (c *Controller) Lease(req LeaseRequest) (Lease, error) {
	l, err := c.grant(author{}, req)
	if err != nil {
		return Lease{}, err
	}
	return Lease{c, l.id}, nil
}

func (c *Controller) grant(by author, req LeaseRequest) (*lease, error) {
	err := cmp.Or(checkOwner(req.Owner), checkNames(req.Owner, req.Why), c.checkTTL(req.TTL), c.checkSpec(req.Spec, req.AllowPending))
	if err != nil {
		return nil, err
	}
	l := &lease{
		id: strings.ToLower(rand.Text()[:13]), owner: req.Owner, why: req.Why,
		spec: strings.Clone(req.Spec), allowPending: req.AllowPending,
	}
	err = c.update(by, func(at time.Time) (cause, error) {
		if n := len(c.wanted.leases); n >= c.options.maxLeases {
			return cause{}, &Error{Op: "lease", Err: because(ErrTooManyLeases, "there are %d already; release some, or raise MaxLeases", n)}
		}
		l.start, l.end = at, at.Add(req.TTL)
		c.hold(l)
		return cause{wire.KindLease, cmp.Or(by.who, l.owner), withReason("lease "+l.id+" for "+req.TTL.String(), l.why)}, nil
	})
	return l, err
}

// Renew lets the lease live for ttl from now on, which may be longer or shorter than it
// would have. The error is an [*Error] for [ErrTTL], [ErrNoLease] or [ErrClosed].
func (c *Controller) Renew(id string, ttl time.Duration) error {
	_, err := c.renew(author{}, id, ttl)
	return err
}

func (c *Controller) renew(by author, id string, ttl time.Duration) (*lease, error) {
	if err := c.checkTTL(ttl); err != nil {
		return nil, err
	}
	l := new(lease)
	err := c.update(by, func(at time.Time) (cause, error) {
		old, err := c.find(id, at)
		if err != nil {
			return cause{}, err
		}
		*l = *old
		l.end = at.Add(ttl)
		c.drop(old)
		c.hold(l)
		return cause{wire.KindRenewal, cmp.Or(by.who, l.owner), "lease " + l.id + " for another " + ttl.String()}, nil
	})
	return l, err
}

// Release ends the lease now. The error is an [*Error] for [ErrNoLease] or [ErrClosed].
func (c *Controller) Release(id string) error {
	_, err := c.release(author{}, id)
	return err
}

func (c *Controller) release(by author, id string) (l *lease, err error) {
	err = c.update(by, func(at time.Time) (cause, error) {
		if l, err = c.find(id, at); err != nil {
			return cause{}, err
		}
		c.drop(l)
		return cause{wire.KindRelease, cmp.Or(by.who, l.owner), "lease " + l.id + " was released"}, nil
	})
	return l, err
}

// ID returns what names the lease in [Controller.Renew] and at the endpoint.
func (l Lease) ID() string { return l.id }

// Renew is [Controller.Renew].
func (l Lease) Renew(ttl time.Duration) error { return l.c.Renew(l.id, ttl) }

// Release is [Controller.Release].
func (l Lease) Release() error { return l.c.Release(l.id) }

func (c *Controller) checkTTL(ttl time.Duration) error {
	if err := c.usable(); err != nil {
		return err
	}
	if ttl <= 0 || ttl > c.options.maxTTL {
		return &Error{Op: "lease", Input: ttl.String(), Err: because(ErrTTL, "more than 0 and at most %v", c.options.maxTTL)}
	}
	return nil
}

// withReason adds the reason that somebody gave, if any, to what happened.
func withReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// lease is one lease. It is immutable: to renew it is to put another in its place.
type lease struct {
	id, owner, spec, why string
	allowPending         bool
	start, end           time.Time // with their monotonic readings
}

// find returns the lease that is live at this time. One whose time has passed is not,
// whether or not the timer has come round to it.
func (c *Controller) find(id string, at time.Time) (*lease, error) {
	l := c.byID[id]
	if l == nil || !at.Before(l.end) {
		return nil, &Error{Op: "lease", Input: id, Err: because(ErrNoLease, "it has ended, or never was")}
	}
	return l, nil
}

// hold adds l to what is wanted.
func (c *Controller) hold(l *lease) {
	c.wanted.leases = c.wanted.leases.with(l)
	c.byID[l.id] = l
	c.specs[l.spec]++
}

// drop takes some leases away from what is wanted.
func (c *Controller) drop(some ...*lease) {
	c.wanted.leases = c.wanted.leases.without(some)
	for _, l := range some {
		delete(c.byID, l.id)
		if c.specs[l.spec]--; c.specs[l.spec] == 0 {
			delete(c.specs, l.spec)
		}
	}
}

// leases are sorted, the first to end first. They are immutable, so that who shows them needs
// no lock; to copy ten thousand pointers takes a few microseconds. A heap would have to be
// copied as well, and sorted.
type leases []*lease

func (ls leases) with(l *lease) leases {
	i, _ := slices.BinarySearchFunc(ls, l, byEnd)
	return slices.Concat(ls[:i], leases{l}, ls[i:])
}

// without returns the leases of ls that are not in some, whose order is that of ls.
func (ls leases) without(some leases) leases {
	rest := make(leases, 0, len(ls)-len(some))
	for _, l := range some {
		i, _ := slices.BinarySearchFunc(ls, l, byEnd)
		rest = append(rest, ls[:i]...)
		ls = ls[i+1:]
	}
	return append(rest, ls...)
}

// ended returns those whose time has passed.
func (ls leases) ended(at time.Time) leases {
	n, _ := slices.BinarySearchFunc(ls, at, func(l *lease, at time.Time) int {
		if l.end.After(at) {
			return 1
		}
		return -1
	})
	return ls[:n]
}

func byEnd(a, b *lease) int { return cmp.Or(a.end.Compare(b.end), strings.Compare(a.id, b.id)) }

// describe says whose leases they are and which, without listing thousands.
func (ls leases) describe() (owners, which string) {
	const most = 4
	var names []string
	for _, l := range ls {
		if !slices.Contains(names, l.owner) {
			if len(names) == most {
				names = append(names, "others")
				break
			}
			names = append(names, l.owner)
		}
	}
	which = fmt.Sprintf("%d leases", len(ls))
	if len(ls) == 1 {
		which = "lease " + ls[0].id
	}
	return strings.Join(names, ", "), which
}
