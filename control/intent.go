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

// intent is what a controller has been asked for. That of a view is immutable; a [tx] changes a
// copy.
type intent struct {
	baseline, startup Baseline
	deny, ceiling     string
	leases            []*lease // the first to end first
	specs, quiets     counts   // of the leases
	size              int      // the sum of the sizes of the leases
}

func newIntent(o options) intent {
	return intent{baseline: o.startup, startup: o.startup, deny: o.deny, ceiling: o.ceiling, specs: counts{}, quiets: counts{}}
}

func (in intent) clone() intent {
	in.leases, in.specs, in.quiets = slices.Clone(in.leases), maps.Clone(in.specs), maps.Clone(in.quiets)
	return in
}

// plan returns the intent for the registry.
func (in intent) plan() plan.Plan {
	return plan.Plan{
		Baseline: in.baseline.Spec,
		Quiet:    slices.Collect(maps.Keys(in.quiets)),
		Specs:    slices.Collect(maps.Keys(in.specs)),
		Deny:     in.deny,
		Ceiling:  in.ceiling,
	}
}

// add adds a lease.
func (in *intent) add(l *lease) {
	i, _ := slices.BinarySearchFunc(in.leases, l, byEnd)
	in.leases = slices.Insert(in.leases, i, l)
	in.count(l, 1)
}

// drop removes leases[i:j] and returns them.
func (in *intent) drop(i, j int) []*lease {
	dropped := slices.Clone(in.leases[i:j])
	in.leases = slices.Delete(in.leases, i, j)
	for _, l := range dropped {
		in.count(l, -1)
	}
	return dropped
}

func (in *intent) count(l *lease, n int) {
	in.size += n * l.size()
	in.specs.add(l.spec, n)
	in.quiets.add(l.quiet, n)
}

// ended returns how many leases have ended at this time.
func (in intent) ended(at time.Time) int {
	n, _ := slices.BinarySearchFunc(in.leases, at, func(l *lease, at time.Time) int {
		if l.end.After(at) {
			return 1
		}
		return -1
	})
	return n
}

// counts has how many leases have each spec that is not empty.
type counts map[string]int

func (c counts) add(spec string, n int) {
	if spec == "" {
		return
	}
	if c[spec] += n; c[spec] == 0 {
		delete(c, spec)
	}
}

// lease is one lease. It is immutable: to renew it is to put another in its place.
type lease struct {
	id, owner, why string
	spec, quiet    string // what it adds and what it quiets; empty for nothing
	allowPending   bool
	start, end     time.Time // with their monotonic readings
}

// size is what it counts for in [MaxLeasesLen].
func (l *lease) size() int { return len(l.owner) + len(l.why) + len(l.spec) + len(l.quiet) }

// left returns how long l still has, to the millisecond.
func (l *lease) left(now time.Time) time.Duration {
	return max(0, l.end.Sub(now)).Round(time.Millisecond)
}

func byEnd(a, b *lease) int { return cmp.Or(a.end.Compare(b.end), strings.Compare(a.id, b.id)) }
