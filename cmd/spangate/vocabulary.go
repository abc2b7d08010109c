// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// vocabulary has the names that a spec may have: those of a catalog or of a process.
type vocabulary struct {
	namespace string // of a catalog
	groups    []wire.Group
	presets   []wire.Preset
	names     []string // presets first
	meaning   map[string]meaning
}

// meaning is what a name selects.
type meaning struct {
	kind   string // preset or group
	groups []string
}

func newVocabulary(namespace string, groups []wire.Group, presets []wire.Preset) *vocabulary {
	v := &vocabulary{namespace: namespace, groups: groups, presets: presets, meaning: make(map[string]meaning)}
	for _, g := range groups {
		v.meaning[g.Name] = meaning{"group", []string{g.Name}}
	}
	for _, p := range presets { // one that has the name of a group selects that group too
		v.names = append(v.names, p.Name)
		v.meaning[p.Name] = meaning{"preset", slices.Concat(p.Groups, v.meaning[p.Name].groups)}
	}
	for _, g := range groups {
		v.names = append(v.names, g.Name)
	}
	return v
}

// catalogVocabulary returns the vocabulary of c, with groups in bit order.
func catalogVocabulary(c *spangate.Catalog) *vocabulary {
	var groups []wire.Group
	for g := range c.Groups() {
		groups = append(groups, wire.Group{Name: g.Name, Members: []wire.Member{{Namespace: c.Namespace(), Bit: g.Position(), Doc: g.Doc}}})
	}
	var presets []wire.Preset
	for p := range c.Presets() {
		presets = append(presets, wire.Preset{Name: p.Name, Groups: c.Names(p.Mask), Doc: p.Doc})
	}
	return newVocabulary(c.Namespace(), groups, presets)
}

// entry is one entry of a spec.
type entry struct {
	Name    string `json:"name"`           // as written, without the '-' of an exclusion
	Offset  int    `json:"offset"`         // of the name in the spec, in bytes
	Exclude bool   `json:"exclude"`        // it begins with '-'
	Kind    string `json:"kind"`           // preset, group or pending
	Mask    string `json:"mask,omitempty"` // of the name in a catalog, in hexadecimal
	// Changes has the groups that the entry adds to those of the entries before it. For an exclusion,
	// they are the groups that it removes and no exclusion before it does.
	Changes []string `json:"changes"`
	// Suggestion is the nearest name to one that is pending, if one is close.
	Suggestion string `json:"suggestion,omitempty"`
}

// kindPending is the kind of an entry whose name is not in the vocabulary.
const kindPending = "pending"

// parse returns the entries of a spec, without empty ones, in the order of the spec, and the groups that
// it selects, in the order of the vocabulary. The error is the one that a process gives for the spec. A
// name that is not in the vocabulary is an error unless allowPending.
func (v *vocabulary) parse(text string, allowPending bool) (entries []entry, selected []wire.Group, _ error) {
	refused := &spangate.ParseError{Namespace: v.namespace, Spec: spec.Head(text), Valid: v.names}
	if refused.Err = spec.CheckLen(text); refused.Err != nil {
		return nil, nil, refused
	}
	entries, selected = []entry{}, []wire.Group{}
	on := make(map[string]bool)
	for _, exclude := range []bool{false, true} { // exclusions last, since they apply to the whole spec
		for in := range spec.Entries(text) {
			if in.Exclude != exclude {
				continue
			}
			m, _ := spec.Lookup(v.meaning, in.Name)
			e := entry{Name: in.Name, Offset: in.Offset, Exclude: exclude, Kind: cmp.Or(m.kind, kindPending), Changes: []string{}}
			for _, name := range m.groups {
				if on[name] == exclude {
					on[name] = !exclude
					e.Changes = append(e.Changes, name)
				}
			}
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.Offset - b.Offset })
	for i := range entries {
		if e := &entries[i]; e.Kind == kindPending {
			if len(refused.Unknown) < spec.MaxSuggested {
				e.Suggestion = spec.Nearest(e.Name, v.names)
			}
			refused.Unknown = append(refused.Unknown, spangate.UnknownName{Name: e.Name, Offset: e.Offset, Suggestion: e.Suggestion})
		}
	}
	if refused.Unknown != nil && !allowPending {
		refused.Spec, refused.Err = text, spangate.ErrUnknownName
		return nil, nil, refused
	}
	if err := spec.CheckText(text); err != nil {
		return nil, nil, usagef("spec %s: %w", spec.Head(text), err)
	}
	for _, g := range v.groups {
		if on[g.Name] {
			selected = append(selected, g)
		}
	}
	return entries, selected, nil
}

// pendingOf returns the names of entries that are not in the vocabulary.
func pendingOf(entries []entry) []string {
	names := []string{}
	for _, e := range entries {
		if e.Kind == kindPending {
			names = append(names, e.Name)
		}
	}
	return names
}

// pending says that names are not registered yet, each with the nearest name in v if one is close.
func (v *vocabulary) pending(names []string) string {
	names = slices.Clone(names)
	for i, name := range names[:min(len(names), maxListed)] {
		if near := spec.Nearest(name, v.names); near != "" {
			names[i] += " (did you mean " + near + "?)"
		}
	}
	return warning(names, ", not registered yet")
}

// canonical returns the spec of groups.
func canonical(groups []wire.Group) string {
	return strings.Join(mapped(groups, func(g wire.Group) string { return g.Name }), ",")
}

// docOf returns the docs of a group in its namespaces, each once.
func docOf(g wire.Group) string {
	var docs []string
	for _, m := range g.Members[:min(len(g.Members), maxListed)] {
		if doc := short(m.Doc); !slices.Contains(docs, doc) {
			docs = append(docs, doc)
		}
	}
	return joined("; ", docs...)
}

// mapped returns what f returns for each element of list.
func mapped[T, U any](list []T, f func(T) U) []U {
	results := make([]U, len(list))
	for i, v := range list {
		results[i] = f(v)
	}
	return results
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}
