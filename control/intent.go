// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate/internal/plan"
)

// intent is the baseline, leases and limits of a controller. That of a view is immutable; a [tx]
// changes a copy.
type intent struct {
	baseline, startup Baseline
	deny, ceiling     string
	leases            []*lease // sorted by end
	admit             bool     // overrides of other processes
	specs, quiets     counts   // of the leases that are no details
	details           counts   // the specs of details
	revoked           counts   // ids of overrides
	size              int      // the sum of the sizes of the leases
}

func (in intent) clone() intent {
	in.leases = slices.Clone(in.leases)
	for _, c := range []*counts{&in.specs, &in.quiets, &in.details, &in.revoked} {
		*c = maps.Clone(*c)
	}
	return in
}

// plan returns the intent for the registry.
func (in intent) plan() plan.Plan {
	return plan.Plan{
		Baseline: in.baseline.Spec,
		Quiet:    slices.Collect(maps.Keys(in.quiets)),
		Specs:    slices.Collect(maps.Keys(in.specs)),
		Details:  slices.Collect(maps.Keys(in.details)),
		Admit:    in.admit,
		Deny:     in.deny,
		Ceiling:  in.ceiling,
	}
}

func (in *intent) count(l *lease, n int) {
	in.size += n * l.size()
	if l.detail() {
		in.details.add(l.Spec, n)
	} else {
		in.specs.add(l.Spec, n)
	}
	in.quiets.add(l.Quiet, n)
	in.revoked.add(l.Revoke, n)
}

// revokes reports whether a lease revokes the override of this id: the id, or what is before one of
// its '-'.
func (in intent) revokes(id string) bool {
	if len(in.revoked) == 0 {
		return false
	}
	for i := range len(id) {
		if id[i] == '-' && in.revoked[id[:i]] > 0 {
			return true
		}
	}
	return in.revoked[id] > 0
}

// revocations returns how many leases revoke.
func (in intent) revocations() (n int) {
	for _, count := range in.revoked {
		n += count
	}
	return n
}

// counts has how many leases have each text that is not empty.
type counts map[string]int

func (c counts) add(spec string, n int) {
	if c[spec] += n; c[spec] == 0 || spec == "" {
		delete(c, spec)
	}
}

// lease is one lease. It is immutable: a renewal replaces it.
type lease struct {
	LeaseRequest
	id         string
	start, end time.Time // with their monotonic readings
}

// size is how much of [MaxLeasesLen] l takes.
func (l *lease) size() int {
	return len(l.Owner) + len(l.Why) + len(l.Spec) + len(l.Quiet) + len(l.Match) + len(l.Revoke)
}

// left returns how long l still has, to the millisecond.
func (l *lease) left(now time.Time) time.Duration {
	return max(0, l.end.Sub(now)).Round(time.Millisecond)
}

func byEnd(a, b *lease) int { return cmp.Or(a.end.Compare(b.end), strings.Compare(a.id, b.id)) }
