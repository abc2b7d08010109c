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
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
)

// MaxLeasesLen bounds the specs, owners and reasons of all leases of a controller together, in
// bytes. A lease beyond it is [ErrTooManyLeases], unless it revokes.
const MaxLeasesLen = 4 << 20

// revocations is how many leases that revoke there can be beyond MaxLeases and MaxLeasesLen, so that details
// that fill these up do not prevent a revocation.
const revocations = 16

// LeaseRequest asks for a lease. A lease adds what Spec selects, quiets what Quiet selects, or
// both, or revokes overrides; one that does nothing is [ErrNoEffect].
type LeaseRequest struct {
	// Owner is whose lease it is: a line of text that is not blank, at most [MaxOwnerLen]
	// bytes.
	Owner string
	// Spec selects groups to add to what is on. It may be empty.
	Spec string
	// Quiet selects groups to take away from the baseline, and from nothing else: a group
	// that this or another lease adds stays on. It may be empty.
	Quiet string
	// Share makes the lease a detail, which acts on a share of traces instead of on all: above
	// 0 and at most 1. 0 is all traces, without a detail. See [Controller.Begin].
	Share float64
	// Match makes the lease a detail, which acts on the traces of requests with these fields, as
	// in customer=42 or customer=42,tier=gold: each field has the value. Fields and values have no
	// commas, and space around them is dropped. See [Controller.Offer].
	Match string
	// Revoke ends the overrides with this id, or with an id that begins with it and '-', and
	// refuses them while the lease lives. A lease that revokes does nothing else.
	Revoke string
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
// [*Error] for [ErrOwner], [ErrWhy], [ErrTTL], [ErrSpec], [ErrNoEffect], [ErrDetail], [ErrTooManyLeases] or
// [ErrClosed].
func (c *Controller) Lease(req LeaseRequest) (Lease, error) {
	l, err := c.grant(author{}, req)
	if err != nil {
		return Lease{}, err
	}
	return Lease{c, l.id}, nil
}

func (c *Controller) grant(by author, req LeaseRequest) (*lease, error) {
	if !spec.Visible(req.Owner) {
		return nil, &Error{Op: "owner", Input: req.Owner, Err: because(ErrOwner, "it is blank; say whose lease it is")}
	}
	if err := cmp.Or(checkAuthor("owner", req.Owner, req.Why), c.checkTTL(req.TTL), checkDetail(req), c.checkLease(req)); err != nil {
		return nil, err
	}
	t, err := c.begin(by)
	if err != nil {
		return nil, err
	}
	defer t.end()
	req.Spec, req.Quiet = nonBlank(req.Spec), nonBlank(req.Quiet)
	for _, text := range []*string{&req.Owner, &req.Spec, &req.Quiet, &req.Match, &req.Revoke, &req.Why} {
		*text = strings.Clone(*text) // so that the lease does not keep a request body in memory
	}
	l := &lease{req, strings.ToLower(rand.Text()[:13]), t.at, t.at.Add(req.TTL)}
	n, size := len(t.intent.leases), t.intent.size
	reserved := l.Revoke != "" && t.intent.revocations() < revocations
	if n >= c.options.maxLeases && !reserved {
		return nil, &Error{Op: "lease", Err: because(ErrTooManyLeases, "there are %d already; release some, or raise MaxLeases", n)}
	}
	if size+l.size() > MaxLeasesLen && !reserved {
		return nil, &Error{Op: "lease", Err: because(ErrTooManyLeases, "%d bytes, and the %d leases that there are hold %d; at most %d together", l.size(), n, size, MaxLeasesLen)}
	}
	t.add(l)
	why := "lease " + l.id + " for " + req.TTL.String() + l.scope()
	if l.Why != "" {
		why += ": " + l.Why
	}
	t.commit(KindLease, cmp.Or(by.who, l.Owner), why)
	return l, nil
}

// checkLease returns an error if a spec of req is refused, or if neither can have an effect. Like
// checkSpec it is called without the lock.
func (c *Controller) checkLease(req LeaseRequest) error {
	if err := c.checkSpec(req.Spec, req.AllowPending); err != nil {
		return err
	}
	if err := c.checkSpec(req.Quiet, req.AllowPending); err != nil {
		return &Error{Op: opQuiet, Err: err}
	}
	now := c.view.Load().Generation
	if req.Revoke != "" || selects(now, req.Spec, req.AllowPending) || selects(now, req.Quiet, req.AllowPending) {
		return nil
	}
	op, input := "lease", nonBlank(req.Spec)
	if input == "" && nonBlank(req.Quiet) != "" {
		op, input = opQuiet, req.Quiet
	}
	if onlyExcludes(input) {
		return &Error{Op: op, Input: input, Err: because(ErrNoEffect, "each '-' takes a name out of what the other names select, and there are none; to turn a group off, quiet it by its name, without the '-'")}
	}
	return &Error{Op: op, Input: input, Err: because(ErrNoEffect, "it selects no group, to add or to quiet; name one that is registered, or allow pending names")}
}

// onlyExcludes reports whether text has entries, all of them exclusions.
func onlyExcludes(text string) bool {
	only := false
	for e := range spec.Entries(text) {
		if only = e.Exclude; !only {
			break
		}
	}
	return only
}

// selects reports whether text selects a group. If names may be pending, it also reports true
// for a spec that may select one later: one with a name that stands for no group now and is not
// excluded.
func selects(now plan.Generation, text string, allowPending bool) bool {
	if groups, _ := now.Resolve(text); len(groups) > 0 || !allowPending {
		return len(groups) > 0
	}
	excluded := make(map[string]bool)
	for e := range spec.Entries(text) {
		excluded[spec.Lower(e.Name)] = excluded[spec.Lower(e.Name)] || e.Exclude
	}
	for name, not := range excluded {
		if groups, _ := now.Resolve(name); !not && !excluded[spangate.NameAll] && len(groups) == 0 {
			return true
		}
	}
	return false
}

// Renew lets the lease live for ttl from now on, longer or shorter than before: more than 0, at
// most what [MaxTTL] allows. The error is an [*Error] for [ErrTTL],
// [ErrNoLease] or [ErrClosed].
func (c *Controller) Renew(id string, ttl time.Duration) error {
	_, err := c.renew(author{}, id, ttl)
	return err
}

func (c *Controller) renew(by author, id string, ttl time.Duration) (*lease, error) {
	if err := c.checkTTL(ttl); err != nil {
		return nil, err
	}
	t, old, err := c.take(by, id)
	if err != nil {
		return nil, err
	}
	defer t.end()
	l := *old
	l.TTL, l.end = ttl, t.at.Add(ttl)
	t.add(&l)
	t.commit(KindRenewal, cmp.Or(by.who, by.address, l.Owner), "lease "+id+" for another "+ttl.String())
	return &l, nil
}

// Release ends the lease now. The error is an [*Error] for [ErrNoLease] or [ErrClosed].
func (c *Controller) Release(id string) error {
	_, err := c.release(author{}, id)
	return err
}

func (c *Controller) release(by author, id string) (*lease, error) {
	t, l, err := c.take(by, id)
	if err != nil {
		return nil, err
	}
	defer t.end()
	t.commit(KindRelease, cmp.Or(by.who, by.address, l.Owner), "lease "+id+" was released")
	return l, nil
}

// take begins a change that removes the lease, and returns the lease.
func (c *Controller) take(by author, id string) (*tx, *lease, error) {
	t, err := c.begin(by)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(t.intent.leases, func(l *lease) bool { return l.id == id })
	if i < 0 {
		t.end()
		return nil, nil, &Error{Op: "lease", Input: id, Err: because(ErrNoLease, "it has ended, or never was")}
	}
	return t, t.drop(i, i+1)[0], nil
}

func (t *tx) add(l *lease) {
	i, _ := slices.BinarySearchFunc(t.intent.leases, l, byEnd)
	t.intent.leases = slices.Insert(t.intent.leases, i, l)
	t.intent.count(l, 1)
}

// drop removes leases[i:j] and returns them.
func (t *tx) drop(i, j int) []*lease {
	dropped := slices.Clone(t.intent.leases[i:j])
	t.intent.leases = slices.Delete(t.intent.leases, i, j)
	for _, l := range dropped {
		t.intent.count(l, -1)
	}
	return dropped
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

// arm sets the timer for the end of the first lease. The registry is locked.
func (c *Controller) arm() {
	if leases := c.view.Load().intent.leases; len(leases) > 0 {
		c.timer.Reset(time.Until(leases[0].end))
	} else {
		c.timer.Stop()
	}
}

// onTimer ends the leases whose time has passed, which begin does.
func (c *Controller) onTimer() {
	if t, err := c.begin(author{}); err == nil {
		t.end()
	}
}

// expire ends the leases whose time has passed, all in one change.
func (t *tx) expire() {
	n := 0
	for n < len(t.intent.leases) && !t.intent.leases[n].end.After(t.at) {
		n++
	}
	if n == 0 {
		return
	}
	ended := t.drop(0, n)
	what := fmt.Sprintf("%d leases", len(ended))
	if len(ended) == 1 {
		what = "lease " + ended[0].id
	}
	t.commit(KindExpiry, owners(ended), what+" ended")
	t.intent = t.intent.clone() // the committed intent must not change
}

// owners returns the owners of leases, at a bounded length.
func owners(leases []*lease) string {
	const most = 4
	var names []string
	for _, l := range leases {
		if !slices.Contains(names, l.Owner) {
			names = append(names, l.Owner)
		}
		if len(names) > most {
			names[most] = "others"
			break
		}
	}
	return strings.Join(names, ", ")
}
