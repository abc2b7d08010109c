// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// Bounds on lists that can have thousands of elements.
const (
	maxLeases  = 100 // in the list of leases
	maxReasons = 4   // leases named with a group
	maxPending = 64  // names in one list that are not registered
)

// view is the data of the template.
type view struct {
	wire.State
	Tag   string
	First []wire.Lease // the leases that are listed, which are the first to end
	More  int          // the number of the others

	minutes []int          // the times to live that a row offers
	index   map[string]int // the place of a lease in Leases, by ID
	left    func(lease int) time.Duration
}

func newView(s wire.State) view {
	listed := min(len(s.Leases), maxLeases)
	v := view{State: s, First: s.Leases[:listed], More: len(s.Leases) - listed, index: make(map[string]int, len(s.Leases))}
	for i, l := range s.Leases {
		v.index[l.ID] = i
	}
	longest, _ := time.ParseDuration(s.MaxTTL) // without one, nothing is offered
	for _, m := range []int{1, 5, 30} {
		if time.Duration(m)*time.Minute <= longest {
			v.minutes = append(v.minutes, m)
		}
	}
	return v
}

// Left returns how long v.Leases[lease] still has.
func (v view) Left(lease int) string { return clock(v.left(lease)) }

// offer is the buttons of a row, one for each of Minutes.
type offer struct {
	Verb, Field, Name string
	Minutes           []int
}

// Offer returns the buttons that lease a group or preset, or quiet a group: field is spec or quiet.
func (v view) Offer(verb, field, name string) offer { return offer{verb, field, name, v.minutes} }

// Because returns the reasons why a group is on or off.
func (v view) Because(g wire.Group) []string {
	var why []string
	if g.Baseline {
		why = append(why, "baseline")
	}
	why = append(why, v.leases(g.Quiet, "quieted by lease of", "quieted by ")...)
	why = append(why, v.leases(g.Leases, "lease of", "")...)
	switch {
	case g.Overridden:
		why = append(why, "set on the registry itself")
	case g.Withheld && v.Ceiling == "":
		why = append(why, "kept off by the deny list")
	case g.Withheld && v.Deny == "":
		why = append(why, "kept off by the ceiling")
	case g.Withheld:
		why = append(why, "kept off by the deny list or the ceiling")
	}
	return why
}

// leases returns a reason for each of the first maxReasons leases, after prefix, and the number of
// the others, after morePrefix.
func (v view) leases(ids []string, prefix, morePrefix string) []string {
	var why []string
	for i, id := range ids {
		if i == maxReasons {
			return append(why, fmt.Sprintf("%s%d more leases", morePrefix, len(ids)-i))
		}
		lease := v.index[id]
		why = append(why, fmt.Sprintf("%s %s, %s", prefix, v.Leases[lease].Owner, v.Left(lease)))
	}
	return why
}

var funcs = template.FuncMap{
	"time":    func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"join":    func(names []string) string { return strings.Join(names, ", ") },
	"pending": pending,
	"missing": missing,
}

// pending joins at most maxPending names, and counts the others.
func pending(names []string) string {
	if more := len(names) - maxPending; more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:maxPending], ", "), more)
	}
	return strings.Join(names, ", ")
}

// clock formats a duration as 4:05 or 1:04:05, rounded up: 0:00 means none is left.
func clock(d time.Duration) string {
	s := max(0, int((d+time.Second-1)/time.Second))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// missing returns the names in after that are not in before, which is sorted.
func missing(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(name string) bool { _, found := slices.BinarySearch(before, name); return found })
}
