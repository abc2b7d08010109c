// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/registry"
)

// MaxLeasesLen is the length in bytes of what all leases of a controller together may hold:
// the specs, owners and reasons of their requests. A lease beyond it is [ErrLeasesTooLong].
const MaxLeasesLen = 4 << 20

// LeaseRequest asks for a lease. A lease adds what Spec selects, quiets what Quiet selects, or
// both; one that does neither is [ErrNoEffect].
type LeaseRequest struct {
	// Owner is whose lease it is: a line of text that is not blank, at most [MaxOwnerLen]
	// bytes.
	Owner string
	// Spec selects groups to add to what is on. It may be empty.
	Spec string
	// Quiet selects groups to take away from the baseline, and from nothing else: a group
	// that this or another lease adds stays on. It may be empty.
	Quiet string
	// TTL is how long the lease lives: more than 0, at most what [MaxTTL] allows.
	TTL time.Duration
	// Why is for the change log and the state: a line of text, at most [MaxWhyLen] bytes. It
	// may be empty.
	Why string
	// AllowPending keeps names of Spec and Quiet that are not registered until they are.
	// Without it they are an error.
	AllowPending bool
}

// Lease is a handle on a lease. It may be copied and used by any number of goroutines. Get one
// from [Controller.Lease]; the methods of the zero value return [ErrNoLease].
type Lease struct {
	c  *Controller
	id string
}

// Lease adds req.Spec to what is on, and quiets req.Quiet, until its time has passed or it is
// released. Then what it added goes off, unless the baseline or another lease has it on too,
// and what it quieted comes back, unless another lease quiets it too.
//
// The time is that of the monotonic clock, which on most systems stands still while the
// machine is suspended. The error is a [*spangate.ParseError] for a spec that is too long or has
// a name that is not registered, wrapped in an [*Error] if it is the spec in Quiet, or an
// [*Error] for [ErrOwner], [ErrWhy], [ErrTTL], [ErrSpec], [ErrNoEffect], [ErrTooManyLeases],
// [ErrLeasesTooLong] or [ErrClosed].
func (c *Controller) Lease(req LeaseRequest) (Lease, error) {
	l, err := c.grant(author{}, req)
	if err != nil {
		return Lease{}, err
	}
	return Lease{c, l.id}, nil
}

func (c *Controller) grant(by author, req LeaseRequest) (*lease, error) {
	err := cmp.Or(checkOwner(req.Owner), checkNames(req.Owner, req.Why), c.checkTTL(req.TTL), c.checkLease(req))
	if err != nil {
		return nil, err
	}
	l := &lease{
		id: strings.ToLower(rand.Text()[:13]), owner: strings.Clone(req.Owner), why: strings.Clone(req.Why),
		spec: strings.Clone(nonBlank(req.Spec)), quiet: strings.Clone(nonBlank(req.Quiet)), allowPending: req.AllowPending,
	}
	err = c.update(by, func(at time.Time) (cause, error) {
		if n := len(c.wanted.leases); n >= c.options.maxLeases {
			return cause{}, &Error{Op: "lease", Err: because(ErrTooManyLeases, "there are %d already; release some, or raise MaxLeases", n)}
		}
		if c.leasesLen+l.len() > MaxLeasesLen {
			return cause{}, &Error{Op: "lease", Err: because(ErrLeasesTooLong, "%d bytes, and the %d leases that there are hold %d; at most %d together", l.len(), len(c.wanted.leases), c.leasesLen, MaxLeasesLen)}
		}
		l.start, l.end = at, at.Add(req.TTL)
		c.hold(l)
		return cause{wire.KindLease, cmp.Or(by.who, l.owner), withReason("lease "+l.id+" for "+req.TTL.String(), l.why)}, nil
	})
	return l, err
}

// checkLease returns an error if a spec of req is refused, or if the two can do nothing. As with
// checkSpec, a name that is unregistered before the change is made is pending.
func (c *Controller) checkLease(req LeaseRequest) error {
	if err := c.checkSpec(req.Spec, req.AllowPending); err != nil {
		return err
	}
	if err := c.checkSpec(req.Quiet, req.AllowPending); err != nil {
		return &Error{Op: opQuiet, Err: err}
	}
	now := c.registry.State()
	if selects(now, req.Spec, req.AllowPending) || selects(now, req.Quiet, req.AllowPending) {
		return nil
	}
	op, input := "lease", nonBlank(req.Spec)
	if input == "" && nonBlank(req.Quiet) != "" {
		op, input = opQuiet, req.Quiet
	}
	return &Error{Op: op, Input: input, Err: because(ErrNoEffect, "it selects no group, to add or to quiet; name one that is registered, or allow pending names")}
}

// selects reports whether text selects a group. If names may be pending, it also reports true
// for a spec that may select one later: one with a name that stands for no group now and is not
// excluded.
func selects(now registry.State, text string, allowPending bool) bool {
	if groups, _ := now.Resolve(text); len(groups) > 0 {
		return true
	}
	if !allowPending {
		return false
	}
	later := make(map[string]bool) // names that stand for no group now
	var excluded []string
	for e := range spec.Entries(text) {
		var buf [spec.MaxNameLen]byte
		folded, _ := spec.Fold(&buf, e.Name) // text that can't be a name is refused before
		switch name := string(folded); {
		case e.Exclude && name == spangate.NameAll:
			return false
		case e.Exclude:
			excluded = append(excluded, name)
		case !later[name]:
			if groups, _ := now.Resolve(name); len(groups) == 0 {
				later[name] = true
			}
		}
	}
	for _, name := range excluded {
		delete(later, name)
	}
	return len(later) > 0
}

// Renew lets the lease live for ttl from now on, which may be longer or shorter than it
// would have: more than 0, at most what [MaxTTL] allows. The error is an [*Error] for [ErrTTL], [ErrNoLease] or [ErrClosed].
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

// ID returns the id of the lease in [Controller.Renew] and at the endpoint. It is no secret.
// That of the zero Lease is empty.
func (l Lease) ID() string { return l.id }

// Renew is [Controller.Renew].
func (l Lease) Renew(ttl time.Duration) error {
	if l.c == nil {
		return errZeroLease
	}
	return l.c.Renew(l.id, ttl)
}

// Release is [Controller.Release].
func (l Lease) Release() error {
	if l.c == nil {
		return errZeroLease
	}
	return l.c.Release(l.id)
}

var errZeroLease = &Error{Op: "lease", Err: because(ErrNoLease, "this is the zero Lease; get one from Controller.Lease")}

func (c *Controller) checkTTL(ttl time.Duration) error {
	if err := c.usable(); err != nil {
		return err
	}
	if ttl <= 0 || ttl > c.options.maxTTL {
		return &Error{Op: "lease", Input: ttl.String(), Err: because(ErrTTL, "more than 0 and at most %v", c.options.maxTTL)}
	}
	return nil
}

// withReason returns what happened, with the reason that was given for it, if any.
func withReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// lease is one lease. It is immutable: to renew it is to put another in its place.
type lease struct {
	id, owner, why string
	spec, quiet    string // what it adds and what it quiets; empty for nothing
	allowPending   bool
	start, end     time.Time // with their monotonic readings
}

// len is what it counts for in [MaxLeasesLen].
func (l *lease) len() int { return len(l.owner) + len(l.why) + len(l.spec) + len(l.quiet) }

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
	c.leasesLen += l.len()
	c.specs.add(l.spec)
	c.quiets.add(l.quiet)
}

// drop takes some leases away from what is wanted.
func (c *Controller) drop(some ...*lease) {
	c.wanted.leases = c.wanted.leases.without(some)
	for _, l := range some {
		delete(c.byID, l.id)
		c.leasesLen -= l.len()
		c.specs.remove(l.spec)
		c.quiets.remove(l.quiet)
	}
}

// counts says how many leases have each spec that is not empty.
type counts map[string]int

func (n counts) add(spec string) {
	if spec != "" {
		n[spec]++
	}
}

func (n counts) remove(spec string) {
	if n[spec]--; n[spec] <= 0 {
		delete(n, spec)
	}
}

// leases are sorted, the first to end first. They are immutable, so that a reader needs no
// lock; to copy ten thousand pointers takes a few microseconds. A heap would have to be
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

// describe returns the owners of the leases and what to call them, at a bounded length.
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
