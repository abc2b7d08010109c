// SPDX-License-Identifier: Apache-2.0

package control

import (
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/plan"
)

// State is a snapshot of one generation of a [Controller]. A field means what the field of the
// same name in [wire.State] means, but durations are durations and the baseline in force is
// Baseline. Times are in UTC, in milliseconds. No list is nil if [Controller.State] returned it.
// State and the types of its fields are values; their zero values are empty.
type State struct {
	Baseline, Startup       Baseline
	Generation              string
	Now                     time.Time
	File                    *File // nil if none is watched
	Pinned                  bool
	Deny, Ceiling           string
	Enabled, Roots, Pending []string
	Groups                  []Group
	Scopes                  []ScopeInfo
	Unmatched               []UnmatchedRule
	Presets                 []Preset
	Leases                  []LeaseInfo
	Changes                 []Change // at most 20
	MaxTTL                  time.Duration
	MaxLeases               int
}

// File is a file that is watched, as in [wire.File]. Of several, State has the one whose problem
// changed last.
type File struct{ Path, Problem string }

// Group is a registered group, and why it is on or off, as in [wire.Group].
type Group struct {
	Name                 string
	On, Baseline         bool
	Leases, Quiet        []string // ids of leases
	Withheld, Overridden bool
	Members              []Member
	Spans                *Spans // nil without [Scopes]
}

// Member is a group in one namespace, as in [wire.Member].
type Member struct {
	Namespace string
	Bit       int // the position, 0 to 63
	Doc       string
}

// PresetState says how many groups of a [Preset] are on.
type PresetState string

// The states of a preset.
const (
	PresetOn    PresetState = wire.On    // all of its groups are on
	PresetOff   PresetState = wire.Off   // none of its groups is on, or it has none
	PresetMixed PresetState = wire.Mixed // some of its groups are on
)

// Preset is a registered preset, or all, as in [wire.Preset].
type Preset struct {
	Name   string
	State  PresetState
	Groups []string
	Doc    string
}

// LeaseInfo is a live lease, as in [wire.Lease].
type LeaseInfo struct {
	LeaseRequest                                // TTL is that of the last renewal
	ID                                          string
	Groups, Quieted, StillOn, Withheld, Pending []string
	Start, End                                  time.Time
	Left                                        time.Duration
}

// view is one generation: what State and the endpoint show is made from it. It is immutable.
type view struct {
	plan.Generation
	intent  intent
	enabled []string
	changes []Change // the newest first
}

// State returns a snapshot of one generation, which the caller may keep and change. It does not
// wait for changes. The State of a nil or zero Controller is empty.
//
// It costs time in proportion to the groups, the leases, and what the leases select.
func (c *Controller) State() State {
	if c.usable() != nil {
		none := []string{}
		return State{
			Enabled: none, Roots: none, Pending: none, Groups: []Group{}, Scopes: []ScopeInfo{}, Unmatched: []UnmatchedRule{},
			Presets: []Preset{}, Leases: []LeaseInfo{}, Changes: []Change{},
		}
	}
	m, _ := c.sample(0)
	v := c.view.Load()
	return c.stateOf(v, v.roots(c.origins(v)), m, time.Now())
}

// origins returns the groups of v that begin traces.
func (c *Controller) origins(v *view) (groups []string) {
	if c.options.roots != nil {
		for _, m := range v.Members() {
			groups = append(groups, m.Catalog.Names(c.options.roots(m.Gate)&m.Catalog.All())...)
		}
	}
	return groups
}

// roots returns which of origins, which may be of an earlier view, are registered and off, sorted.
func (v *view) roots(origins []string) []string {
	return sorted(slices.DeleteFunc(append([]string{}, origins...), func(name string) bool {
		return v.on(name) || !contains(v.Groups(), name)
	}))
}

// stateOf returns the state of v with these roots and this sample at this time.
func (c *Controller) stateOf(v *view, roots []string, m *sample, now time.Time) State {
	r := newResolver(v)
	s := State{
		Baseline: v.intent.baseline, Startup: v.intent.startup,
		Generation: v.tag(), Now: utcMilli(now), Pinned: v.Pinned(),
		Deny: v.intent.deny, Ceiling: v.intent.ceiling,
		Enabled: append([]string{}, v.enabled...), Roots: slices.Clone(roots),
		Groups: []Group{}, Scopes: v.scopes(m), Unmatched: []UnmatchedRule{}, Presets: r.presets(), Leases: make([]LeaseInfo, 0, len(v.intent.leases)), Changes: []Change{},
		MaxTTL: c.options.maxTTL, MaxLeases: c.options.maxLeases,
	}
	if f := c.file.Load(); f != nil {
		file := *f
		s.File = &file
	}
	adding, quieting := make(map[string][]string), make(map[string][]string)
	for _, l := range v.intent.leases {
		info := r.lease(l, now)
		s.Leases = append(s.Leases, info)
		for _, name := range info.Groups {
			adding[name] = append(adding[name], l.id)
		}
		for _, name := range info.Quieted {
			quieting[name] = append(quieting[name], l.id)
		}
	}
	spans := make(map[string]*Spans)
	if m != nil {
		s.Unmatched = append(s.Unmatched, m.unmatched...)
		for _, name := range v.Groups() {
			spans[name] = new(Spans)
		}
	}
	for _, scope := range s.Scopes {
		for _, site := range scope.Sites {
			for _, name := range site.Groups {
				if spans[name] != nil { // nil for a bit without a name
					spans[name].add(site.Spans)
				}
			}
		}
	}
	members := make(map[string][]Member)
	for _, m := range v.Members() {
		for g := range m.Catalog.Groups() {
			members[g.Name] = append(members[g.Name], Member{m.Catalog.Namespace(), g.Position(), g.Doc})
		}
	}
	for _, name := range v.Groups() {
		g := Group{
			Name: name, On: contains(v.enabled, name), Baseline: contains(r.baseline.groups, name), Withheld: r.withheld(name),
			Leases: append([]string{}, adding[name]...), Quiet: append([]string{}, quieting[name]...), Members: members[name], Spans: spans[name],
		}
		selected := g.Baseline && len(g.Quiet) == 0 || len(g.Leases) > 0
		g.Overridden = g.On != (selected && !g.Withheld)
		s.Groups = append(s.Groups, g)
	}
	for _, change := range v.changes {
		s.Changes = append(s.Changes, change.clone())
	}
	s.Pending = r.pending()
	return s
}

// selection is what a spec selects, and its names that are not registered; both sorted.
type selection struct{ groups, pending []string }

// resolver resolves the specs of a view, each once.
type resolver struct {
	*view
	baseline, deny, ceiling selection
	bySpec                  map[string]selection
}

func newResolver(v *view) *resolver {
	r := &resolver{view: v, bySpec: make(map[string]selection)}
	r.baseline, r.deny, r.ceiling = r.selectionOf(v.intent.baseline.Spec), r.selectionOf(v.intent.deny), r.selectionOf(v.intent.ceiling)
	return r
}

func (r *resolver) selectionOf(spec string) selection {
	s, ok := r.bySpec[spec]
	if !ok {
		s.groups, s.pending = r.Resolve(spec)
		r.bySpec[spec] = s
	}
	return s
}

// pending returns the names that are not registered, of every spec that was resolved and of
// what the registry has in force, which may be another spec or a pin.
func (r *resolver) pending() []string {
	pending := r.Pending()
	for _, s := range r.bySpec {
		pending = append(pending, s.pending...)
	}
	return sorted(pending)
}

// withheld reports whether the limits keep the group off.
func (r *resolver) withheld(group string) bool {
	return contains(r.deny.groups, group) || r.intent.ceiling != "" && !contains(r.ceiling.groups, group)
}

func (r *resolver) presets() []Preset {
	docs := map[string][]string{}
	for _, m := range r.Members() {
		for p := range m.Catalog.Presets() {
			if p.Doc != "" && !slices.Contains(docs[p.Name], p.Doc) {
				docs[p.Name] = append(docs[p.Name], p.Doc)
			}
		}
	}
	docs[spangate.NameAll] = []string{"every group"} // in an empty registry too
	presets := []Preset{}
	for name, groups := range r.Presets() {
		p := Preset{Name: name, Groups: groups, Doc: strings.Join(docs[name], "; "), State: PresetMixed}
		switch on := len(filter(groups, r.on)); on {
		case 0:
			p.State = PresetOff
		case len(groups):
			p.State = PresetOn
		}
		presets = append(presets, p)
	}
	slices.SortFunc(presets, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return presets
}

func (r *resolver) lease(l *lease, now time.Time) LeaseInfo {
	adds, quiets := r.selectionOf(l.Spec), r.selectionOf(l.Quiet)
	return LeaseInfo{
		LeaseRequest: l.LeaseRequest, ID: l.id,
		Groups: slices.Clone(adds.groups), Quieted: slices.Clone(quiets.groups),
		StillOn: filter(quiets.groups, r.on), Withheld: filter(adds.groups, r.withheld),
		Pending: sorted(append(append([]string{}, adds.pending...), quiets.pending...)),
		Start:   utcMilli(l.start), End: utcMilli(l.end), Left: l.left(now),
	}
}

// tag returns the generation as text for clients. It differs between any two generations, of
// different processes too.
func (v *view) tag() string { return v.changes[0].Generation }

func (v *view) on(group string) bool { return contains(v.enabled, group) }

// utcMilli returns t in UTC, in milliseconds, as State has it.
func utcMilli(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// sorted sorts names, and returns them without repetitions.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// contains reports whether name is one of names, which are sorted.
func contains(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}

// filter returns the names that keep reports true for, never nil.
func filter(names []string, keep func(string) bool) []string {
	kept := []string{}
	for _, name := range names {
		if keep(name) {
			kept = append(kept, name)
		}
	}
	return kept
}
