// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
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

// view holds one generation: what State and the endpoint show is made from it. It is immutable.
type view struct {
	state   registry.State
	wanted  wanted
	enabled []string
	changes []Change // the newest first
}

// State returns a snapshot of one generation, which the caller may keep and change. It does not
// wait for changes. Its Writable is always false: only an endpoint sets it. The State of a nil
// or zero Controller is empty.
//
// It costs time in proportion to the groups, the leases, and what the leases select.
func (c *Controller) State() State {
	if c == nil {
		return new(Controller).State()
	}
	v := cmp.Or(c.view.Load(), &view{})
	now := time.Now()
	s := c.show(v, c.roots(v))
	s.Now = shown(now)
	for i, l := range v.wanted.leases {
		s.Leases[i].Left = l.left(now).String()
	}
	return s
}

// roots returns the groups that begin traces and are off.
func (c *Controller) roots(v *view) []string {
	if c.options.roots == nil {
		return nil
	}
	return minus(v.state.Select(c.options.roots), v.enabled)
}

// show returns the state of v, without what changes within a generation: Now, and the Left of
// each lease.
func (c *Controller) show(v *view, roots []string) State {
	sel := newSelector(v)
	s := State{
		Baseline:   v.wanted.baseline,
		Startup:    v.wanted.startup,
		Generation: c.tag(v.state.Generation()),
		Pinned:     v.state.Pinned(),
		Deny:       v.wanted.deny,
		Ceiling:    v.wanted.ceiling,
		Enabled:    append([]string{}, v.enabled...),
		Roots:      append([]string{}, roots...),
		Groups:     sel.groups(),
		Presets:    sel.presets(),
		Leases:     make([]wire.Lease, 0, len(v.wanted.leases)),
		Changes:    make([]Change, 0, len(v.changes)),
		MaxTTL:     c.options.maxTTL.String(),
		MaxLeases:  c.options.maxLeases,
	}
	for _, l := range v.wanted.leases {
		s.Leases = append(s.Leases, sel.lease(l))
	}
	s.Pending = sel.pending()
	for _, change := range v.changes {
		s.Changes = append(s.Changes, clone(change))
	}
	return s
}

// selection is what a spec selects.
type selection struct{ groups, pending []string }

// selector resolves the specs of a view, each once.
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

// pending returns the names that are not registered, of every spec that was resolved and of
// what the registry has in force, which may be another spec or a pin.
func (sel *selector) pending() []string {
	pending := sel.v.state.Pending()
	for _, s := range sel.bySpec {
		pending = append(pending, s.pending...)
	}
	slices.Sort(pending)
	return slices.Compact(pending)
}

// withheld reports whether the limits keep the group off.
func (sel *selector) withheld(group string) bool {
	return contains(sel.deny.groups, group) ||
		sel.v.wanted.ceiling != "" && !contains(sel.ceiling.groups, group)
}

func (sel *selector) groups() []wire.Group {
	adding, quieting := make(map[string][]string), make(map[string][]string)
	for _, l := range sel.v.wanted.leases {
		for _, name := range sel.of(l.spec).groups {
			adding[name] = append(adding[name], l.id)
		}
		for _, name := range sel.of(l.quiet).groups {
			quieting[name] = append(quieting[name], l.id)
		}
	}
	members := sel.v.state.GroupMembers()
	groups := []wire.Group{}
	for _, name := range sel.v.state.Groups() {
		g := wire.Group{
			Name:     name,
			On:       contains(sel.v.enabled, name),
			Baseline: contains(sel.baseline.groups, name),
			Leases:   append([]string{}, adding[name]...),
			Quiet:    append([]string{}, quieting[name]...),
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

// lease returns l as it is shown, without its Left.
func (sel *selector) lease(l *lease) wire.Lease {
	adds, quiets := sel.of(l.spec), sel.of(l.quiet)
	shownAs := wire.Lease{
		ID: l.id, Owner: l.owner, Spec: l.spec, Quiet: l.quiet, AllowPending: l.allowPending, Why: l.why,
		Groups: slices.Clone(adds.groups), Quieted: slices.Clone(quiets.groups), StillOn: []string{}, Withheld: []string{},
		Pending: append(append([]string{}, adds.pending...), quiets.pending...),
		Start:   shown(l.start), End: shown(l.end),
	}
	slices.Sort(shownAs.Pending)
	shownAs.Pending = slices.Compact(shownAs.Pending)
	for _, name := range quiets.groups {
		if contains(sel.v.enabled, name) {
			shownAs.StillOn = append(shownAs.StillOn, name)
		}
	}
	for _, name := range adds.groups {
		if sel.withheld(name) {
			shownAs.Withheld = append(shownAs.Withheld, name)
		}
	}
	return shownAs
}

// left returns how long l still has, rounded as it is shown.
func (l *lease) left(now time.Time) time.Duration {
	return max(0, l.end.Sub(now)).Round(time.Millisecond)
}

// shown returns a time as answers have it: in UTC, in milliseconds.
func shown(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// contains reports whether name is one of names, which are sorted.
func contains(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}
