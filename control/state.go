// SPDX-License-Identifier: Apache-2.0

package control

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// State is a consistent snapshot of a [Controller], as its endpoint shows it. Its fields are
// those of [wire.State].
type State = wire.State

// view is what there is to show of one generation. It is immutable.
type view struct {
	state   registry.State
	wanted  wanted
	enabled []string
	changes []Change // the newest first
}

// State returns a snapshot, all of it of one generation. It waits for nobody, and belongs to
// the caller. Its Writable is for an endpoint to say, and false here.
//
// It costs time in proportion to the groups, the leases, and what the leases select.
func (c *Controller) State() State {
	v := c.view.Load()
	now := time.Now()
	sel := newSelector(v)
	s := State{
		Baseline:   v.wanted.baseline,
		Startup:    v.wanted.startup,
		Generation: c.tag(v.state.Generation()),
		Now:        shown(now),
		Deny:       v.wanted.deny,
		Ceiling:    v.wanted.ceiling,
		Enabled:    slices.Clone(v.enabled),
		Pending:    v.state.Pending(),
		Groups:     sel.groups(),
		Presets:    sel.presets(),
		Leases:     make([]wire.Lease, 0, len(v.wanted.leases)),
		Changes:    make([]Change, 0, len(v.changes)),
		MaxTTL:     c.options.maxTTL.String(),
		MaxLeases:  c.options.maxLeases,
	}
	for _, l := range v.wanted.leases {
		s.Leases = append(s.Leases, sel.lease(l, now))
	}
	for _, change := range v.changes {
		s.Changes = append(s.Changes, clone(change))
	}
	return s
}

// selection is what a spec selects.
type selection struct{ groups, pending []string }

// selector says what the specs of a view select, each resolved once.
type selector struct {
	v                       *view
	baseline, deny, ceiling selection
	bySpec                  map[string]selection
}

func newSelector(v *view) *selector {
	sel := &selector{v: v, bySpec: make(map[string]selection)}
	sel.baseline = sel.of(v.wanted.baseline.Spec)
	sel.deny = sel.of(v.wanted.deny)
	sel.ceiling = sel.of(v.wanted.ceiling)
	return sel
}

func (sel *selector) of(spec string) selection {
	s, ok := sel.bySpec[spec]
	if !ok {
		s.groups, s.pending = sel.v.state.Resolve(spec)
		sel.bySpec[spec] = s
	}
	return s
}

// withheld reports whether the limits keep the group off.
func (sel *selector) withheld(group string) bool {
	return contains(sel.deny.groups, group) ||
		sel.v.wanted.ceiling != "" && !contains(sel.ceiling.groups, group)
}

func (sel *selector) groups() []wire.Group {
	lessees := make(map[string][]string)
	for _, l := range sel.v.wanted.leases {
		for _, name := range sel.of(l.spec).groups {
			lessees[name] = append(lessees[name], l.id)
		}
	}
	members := sel.v.state.GroupMembers()
	groups := []wire.Group{}
	for _, name := range sel.v.state.Groups() {
		g := wire.Group{
			Name:     name,
			On:       contains(sel.v.enabled, name),
			Baseline: contains(sel.baseline.groups, name),
			Leases:   append([]string{}, lessees[name]...),
			Withheld: sel.withheld(name),
		}
		for _, m := range members[name] {
			g.Members = append(g.Members, wire.Member{Namespace: m.Namespace, Bit: bits.TrailingZeros64(uint64(m.Bit)), Doc: m.Doc})
		}
		groups = append(groups, g)
	}
	return groups
}

func (sel *selector) presets() []wire.Preset {
	members := sel.v.state.PresetMembers()
	members[spangate.NameAll] = []registry.Member{{Doc: "every group"}}
	presets := []wire.Preset{}
	for name, groups := range sel.v.state.Presets() {
		p := wire.Preset{Name: name, Groups: groups, State: wire.Off}
		on := len(groups) - len(minus(groups, sel.v.enabled))
		switch {
		case on > 0 && on == len(groups):
			p.State = wire.On
		case on > 0:
			p.State = wire.Mixed
		}
		var docs []string
		for _, m := range members[name] {
			if m.Doc != "" && !slices.Contains(docs, m.Doc) {
				docs = append(docs, m.Doc)
			}
		}
		p.Doc = strings.Join(docs, "; ")
		presets = append(presets, p)
	}
	slices.SortFunc(presets, func(a, b wire.Preset) int { return strings.Compare(a.Name, b.Name) })
	return presets
}

func (sel *selector) lease(l *lease, now time.Time) wire.Lease {
	s := sel.of(l.spec)
	left := max(0, l.end.Sub(now)).Round(time.Millisecond)
	shownAs := wire.Lease{
		ID: l.id, Owner: l.owner, Spec: l.spec, AllowPending: l.allowPending, Why: l.why,
		Groups: slices.Clone(s.groups), Withheld: []string{}, Pending: slices.Clone(s.pending),
		Start: shown(l.start), End: shown(now).Add(left), Left: left.String(),
	}
	for _, name := range s.groups {
		if sel.withheld(name) {
			shownAs.Withheld = append(shownAs.Withheld, name)
		}
	}
	return shownAs
}

// shown returns a time as it travels.
func shown(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// contains reports whether name is one of names, which are sorted.
func contains(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}
