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

// How much the page shows of what there can be thousands of. show.js has the same bounds.
const (
	maxLeases  = 100 // in the list of leases
	maxReasons = 4   // leases named with a group
)

// view is a state with what the page says of it. show.js says the same in the same words.
type view struct {
	wire.State
	byID map[string]wire.Lease
}

func newView(s wire.State) view {
	v := view{s, make(map[string]wire.Lease)}
	for _, l := range s.Leases {
		v.byID[l.ID] = l
	}
	return v
}

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
	for i, id := range g.Leases {
		if i == maxReasons {
			why = append(why, fmt.Sprintf("%d more leases", len(g.Leases)-i))
			break
		}
		l := v.byID[id]
		why = append(why, "lease of "+l.Owner+", "+left(l.Left))
	}
	asked := why != nil
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

// Limits says what no baseline and no lease goes beyond.
func (v view) Limits() string {
	var limits []string
	if v.Deny != "" {
		limits = append(limits, "Never on: "+v.Deny)
	}
	if v.Ceiling != "" {
		limits = append(limits, "Nothing on but: "+v.Ceiling)
	}
	return strings.Join(limits, " · ")
}

// words are the functions of the template.
var words = template.FuncMap{
	"clock": func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	"diff":  diff,
	"join":  func(names []string) string { return strings.Join(names, ", ") },
	"left":  left,
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"state": func(on bool) string {
		if on {
			return wire.On
		}
		return wire.Off
	},
}

// left shows a duration as 4:05 or 1:04:05, rounded up: 0:00 is over.
func left(duration string) string {
	d, _ := time.ParseDuration(duration) // it comes from Duration.String
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
