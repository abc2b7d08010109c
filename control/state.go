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

// State is a snapshot of one generation of a [Controller]. No list in it is nil.
type State struct {
	// Baseline is the baseline in force, and Startup the one that [Controller.ResetBaseline] goes
	// back to.
	Baseline, Startup Baseline
	// Generation is opaque, and different after every change of anything but time, and in every
	// process.
	Generation string
	// Now is when the snapshot was taken, in UTC, in milliseconds.
	Now time.Time
	// Pinned reports whether the program has pinned a set in the registry: that set is on,
	// and baseline, leases and limits have no effect, until the program ends the pin.
	Pinned bool
	// Deny and Ceiling are the limits in force, as in [Limits].
	Deny, Ceiling string
	// Enabled has the groups that are on, sorted.
	Enabled []string
	// Roots has the groups that are off and begin traces, sorted, as far as the function of the
	// option [Roots] has seen. It may change within a generation.
	Roots []string
	// Pending has the names that are not registered, sorted: of the baseline, the leases, the
	// limits, and a spec or pin that the program has set on the registry itself.
	Pending []string
	// Groups has every group that is registered, sorted by name.
	Groups []Group
	// Presets has every preset that is registered and all, sorted by name.
	Presets []Preset
	// Leases has the live leases, the first to end first.
	Leases []LeaseInfo
	// Changes has the latest changes, at most 20, the newest first.
	Changes []Change
	// MaxTTL and MaxLeases are the bounds of the options of these names.
	MaxTTL    time.Duration
	MaxLeases int
}

// Group is a group that is registered, and why it is on or off.
type Group struct {
	Name string
	// On reports whether its spans exist.
	On bool
	// Baseline reports whether the baseline selects it.
	Baseline bool
	// Leases and Quiet have the ids of the leases that add it and that quiet it, in the order of
	// [State.Leases]. The baseline does not turn it on while a lease quiets it.
	Leases, Quiet []string
	// Withheld reports whether the limits keep it off.
	Withheld bool
	// Overridden reports whether baseline, leases and limits say otherwise than On, because the
	// program has set a spec or pin on the registry itself.
	Overridden bool
	// Members has the namespaces that have a group of this name, sorted; one as a rule.
	Members []Member
}

// Member is a group in one namespace.
type Member struct {
	Namespace string
	// Bit is the position of the group's bit in the namespace's mask, 0 to 63.
	Bit int
	// Doc is the group's doc in the catalog; it may be empty.
	Doc string
}

// PresetState says how many groups of a [Preset] are on.
type PresetState string

// The states of a preset.
const (
	PresetOn    PresetState = wire.On    // all of its groups are on
	PresetOff   PresetState = wire.Off   // none of its groups is on, or it has none
	PresetMixed PresetState = wire.Mixed // some of its groups are on
)

// Preset is a preset that is registered, or all.
type Preset struct {
	Name  string
	State PresetState
	// Groups has its live members, sorted.
	Groups []string
	// Doc is the preset's doc in the catalogs that have it; it may be empty.
	Doc string
}

// LeaseInfo is a live lease.
type LeaseInfo struct {
	ID string
	// Owner, Spec, Quiet, Why and AllowPending are those of the [LeaseRequest].
	Owner, Spec, Quiet, Why string
	AllowPending            bool
	// Groups and Quieted have what Spec and Quiet select now, sorted, those that are withheld
	// included.
	Groups, Quieted []string
	// StillOn has those of Quieted that are on all the same, because a lease adds them.
	StillOn []string
	// Withheld has those of Groups that the limits keep off.
	Withheld []string
	// Pending has the names of Spec and Quiet that are not registered, sorted.
	Pending []string
	// Start and End are when it was granted and when it ends, in UTC, in milliseconds.
	Start, End time.Time
	// Left is how long it still has, by the monotonic clock.
	Left time.Duration
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
		return State{
			Enabled: []string{}, Roots: []string{}, Pending: []string{},
			Groups: []Group{}, Presets: []Preset{}, Leases: []LeaseInfo{}, Changes: []Change{},
		}
	}
	v := c.view.Load()
	return c.show(v, c.roots(v), time.Now())
}

// roots returns the groups that begin traces and are off, sorted.
func (c *Controller) roots(v *view) []string {
	roots := []string{}
	if c.options.roots == nil {
		return roots
	}
	for _, m := range v.Members() {
		mask := c.options.roots(m.Gate) & m.Catalog.All()
		for _, name := range m.Catalog.Names(mask) {
			if !contains(v.enabled, name) {
				roots = append(roots, name)
			}
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// show returns the state of v with these roots at this time.
func (c *Controller) show(v *view, roots []string, now time.Time) State {
	r := newResolver(v)
	s := State{
		Baseline: v.intent.baseline, Startup: v.intent.startup,
		Generation: c.tag(v.Number()), Now: shown(now), Pinned: v.Pinned(),
		Deny: v.intent.deny, Ceiling: v.intent.ceiling,
		Enabled: append([]string{}, v.enabled...), Roots: slices.Clone(roots),
		Groups: []Group{}, Presets: r.presets(), Leases: []LeaseInfo{}, Changes: []Change{},
		MaxTTL: c.options.maxTTL, MaxLeases: c.options.maxLeases,
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
	members := make(map[string][]Member)
	for _, m := range v.Members() {
		for g := range m.Catalog.Groups() {
			members[g.Name] = append(members[g.Name], Member{m.Catalog.Namespace(), g.Position(), g.Doc})
		}
	}
	for _, name := range v.Groups() {
		g := Group{
			Name: name, On: contains(v.enabled, name), Baseline: contains(r.baseline.groups, name), Withheld: r.withheld(name),
			Leases: append([]string{}, adding[name]...), Quiet: append([]string{}, quieting[name]...), Members: members[name],
		}
		asked := g.Baseline && len(g.Quiet) == 0 || len(g.Leases) > 0
		g.Overridden = g.On != (asked && !g.Withheld)
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
	r.baseline, r.deny, r.ceiling = r.of(v.intent.baseline.Spec), r.of(v.intent.deny), r.of(v.intent.ceiling)
	return r
}

func (r *resolver) of(spec string) selection {
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
	slices.Sort(pending)
	return slices.Compact(pending)
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
	adds, quiets := r.of(l.spec), r.of(l.quiet)
	pending := append(append([]string{}, adds.pending...), quiets.pending...)
	slices.Sort(pending)
	return LeaseInfo{
		ID: l.id, Owner: l.owner, Spec: l.spec, Quiet: l.quiet, AllowPending: l.allowPending, Why: l.why,
		Groups: slices.Clone(adds.groups), Quieted: slices.Clone(quiets.groups),
		StillOn: filter(quiets.groups, r.on), Withheld: filter(adds.groups, r.withheld),
		Pending: slices.Compact(pending),
		Start:   shown(l.start), End: shown(l.end), Left: l.left(now),
	}
}

// on reports whether the group is on.
func (v *view) on(group string) bool { return contains(v.enabled, group) }

// shown returns a time as State has it: in UTC, in milliseconds.
func shown(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

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
