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
	specs, quiets     counts   // of the leases
	size              int      // the sum of the sizes of the leases
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

func (in *intent) count(l *lease, n int) {
	in.size += n * l.size()
	in.specs.add(l.Spec, n)
	in.quiets.add(l.Quiet, n)
}

// counts has how many leases have each spec that is not empty.
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
func (l *lease) size() int { return len(l.Owner) + len(l.Why) + len(l.Spec) + len(l.Quiet) }

// left returns how long l still has, to the millisecond.
func (l *lease) left(now time.Time) time.Duration {
	return max(0, l.end.Sub(now)).Round(time.Millisecond)
}

func byEnd(a, b *lease) int { return cmp.Or(a.end.Compare(b.end), strings.Compare(a.id, b.id)) }
