// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// How much the page shows of what there can be thousands of. show.js has the same bounds.
const (
	maxLeases  = 100 // in the list of leases
	maxReasons = 4   // leases named with a group
)

// view is a state with what the page says of it. show.js says the same in the same words.
type view struct {
	wire.State
	index map[string]int // in Leases, by id
	left  func(lease int) time.Duration
}

func newView(s wire.State) view {
	v := view{State: s, index: make(map[string]int, len(s.Leases))}
	for i, l := range s.Leases {
		v.index[l.ID] = i
	}
	return v
}

// Left says how long v.Leases[lease] still has.
func (v view) Left(lease int) string { return clock(v.left(lease)) }

// Summary says it all in a line.
func (v view) Summary() string {
	s := fmt.Sprintf("%d of %d groups on", len(v.Enabled), len(v.Groups))
	switch n := len(v.Leases); n {
	case 0:
		return s
	case 1:
		return s + " · 1 lease"
	default:
		return fmt.Sprintf("%s · %d leases", s, n)
	}
}

// FirstLeases has the leases that are listed, the first to end.
func (v view) FirstLeases() []wire.Lease { return v.Leases[:min(len(v.Leases), maxLeases)] }

// MoreLeases speaks of those that are not.
func (v view) MoreLeases() string {
	if n := len(v.Leases) - maxLeases; n > 0 {
		return fmt.Sprintf("and %d more, which end later", n)
	}
	return ""
}

// Because says why a group is on or off.
func (v view) Because(g wire.Group) []string {
	var why []string
	if g.Baseline {
		why = append(why, "baseline")
	}
	why = append(why, v.leases(g.Quiet, "quieted by lease of", "quieted by ")...)
	why = append(why, v.leases(g.Leases, "lease of", "")...)
	asked := g.Baseline && len(g.Quiet) == 0 || len(g.Leases) > 0
	switch {
	case g.Withheld && v.Ceiling == "":
		why = append(why, "kept off by the deny list")
	case g.Withheld && v.Deny == "":
		why = append(why, "kept off by the ceiling")
	case g.Withheld:
		why = append(why, "kept off by the deny list or the ceiling")
	case g.On != asked:
		why = append(why, "set on the registry itself")
	}
	return why
}

// leases says what some leases do to a group, and for how long: one text for each of the first
// maxReasons, which begins with one, and then how many more there are, which begins with more.
func (v view) leases(ids []string, one, more string) []string {
	var said []string
	for i, id := range ids {
		if i == maxReasons {
			return append(said, fmt.Sprintf("%s%d more leases", more, len(ids)-i))
		}
		lease := v.index[id]
		said = append(said, fmt.Sprintf("%s %s, %s", one, v.Leases[lease].Owner, v.Left(lease)))
	}
	return said
}

// Does says what a lease does.
func (v view) Does(l wire.Lease) string {
	switch {
	case l.Quiet == "":
		return cmp.Or(l.Spec, "nothing")
	case l.Spec == "":
		return "quiet " + l.Quiet
	}
	return l.Spec + " · quiet " + l.Quiet
}

// Limits says what limits every baseline and lease, and which groups that begin traces are off
// while others are on.
func (v view) Limits() string {
	var limits []string
	if v.Pinned {
		limits = append(limits, "Pinned by the program: baseline, leases and limits have no effect")
	}
	if v.Deny != "" {
		limits = append(limits, "Never on: "+v.Deny)
	}
	if v.Ceiling != "" {
		limits = append(limits, "Nothing on but: "+v.Ceiling)
	}
	if len(v.Roots) > 0 && len(v.Enabled) > 0 {
		limits = append(limits, "Traces begin in "+strings.Join(v.Roots, ", ")+", which is off: spans beneath begin a trace each, or are not started")
	}
	return strings.Join(limits, " · ")
}

// words are the functions of the template.
var words = template.FuncMap{
	"time":  func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	"diff":  diff,
	"join":  func(names []string) string { return strings.Join(names, ", ") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"state": func(on bool) string {
		if on {
			return wire.On
		}
		return wire.Off
	},
}

// clock shows a duration as 4:05 or 1:04:05, rounded up: 0:00 is over.
func clock(d time.Duration) string {
	s := max(0, int((d+time.Second-1)/time.Second))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// diff says which groups a change turned on and off.
func diff(before, after []string) string {
	var parts []string
	if on := missing(after, before); on != nil {
		parts = append(parts, "on: "+strings.Join(on, ", "))
	}
	if off := missing(before, after); off != nil {
		parts = append(parts, "off: "+strings.Join(off, ", "))
	}
	if parts == nil {
		return "nothing went on or off"
	}
	return strings.Join(parts, " · ")
}

// missing returns the names that are not in others, which are sorted.
func missing(names, others []string) []string {
	var m []string
	for _, name := range names {
		if _, found := slices.BinarySearch(others, name); !found {
			m = append(m, name)
		}
	}
	return m
}
