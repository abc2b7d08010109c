// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"

	"github.com/spangate/spangate"
)

// RegisterOption is an option of [Registry.Register]: [Override] or [Preset]. A nil one has no
// effect.
type RegisterOption func(*registration)

// registration is what the options of one Register say.
type registration struct {
	override bool
	presets  []preset // names and members as given
}

// Override lets the namespace replace the one that is registered under its name, if there
// is one, with all its groups and presets; the gate of the old one goes to zero unless it is
// the gate of the new one too. It also declares names that other namespaces have too as
// intended: there is no warning about them.
func Override() RegisterOption {
	return func(reg *registration) { reg.override = true }
}

// Preset adds a preset whose members are given by name, so that it can hold groups of other
// namespaces. While a member's owner is not registered the member is ignored, with a
// warning. A preset that the catalog or another namespace has too holds the members of all
// of them.
//
// Members are groups, not presets. A blank one is skipped.
func Preset(name string, members ...string) RegisterOption {
	p := preset{name: name, members: slices.Clone(members)}
	return func(reg *registration) { reg.presets = append(reg.presets, p) }
}

// preset is a named list of group names. Not all of them need to be registered.
type preset struct {
	name    string
	members []string
	doc     string
}

// member is one registered namespace: its gate, groups and presets. It is immutable, and its
// names are canonical; only the gate's word changes.
type member struct {
	namespace string
	gate      *spangate.Gate
	groups    []spangate.Group
	presets   []preset
}

// newMember returns the member of c, g and reg. The error is an [*Error] for the first preset
// that is refused.
func newMember(c *spangate.Catalog, g *spangate.Gate, reg registration) (*member, error) {
	m := &member{namespace: c.Namespace(), gate: g, groups: slices.Collect(c.Groups())}
	for p := range c.Presets() {
		if p.Name == spangate.NameAll {
			continue
		}
		var members []string
		for _, group := range m.groups {
			if p.Mask.HasAny(group.Bit) {
				members = append(members, group.Name)
			}
		}
		m.presets = append(m.presets, preset{name: p.Name, members: members, doc: p.Doc})
	}
	for _, p := range reg.presets {
		name := canonical(p.name)
		err := checkName(name)
		if err == nil && slices.ContainsFunc(m.groups, func(g spangate.Group) bool { return g.Name == name }) {
			err = because(spangate.ErrDuplicateName, "the namespace has a group of that name; choose another for the preset")
		}
		if err != nil {
			return nil, &Error{Op: OpRegister, Namespace: m.namespace, Name: p.name, Err: fmt.Errorf("preset: %w", err)}
		}
		m.presets = append(m.presets, preset{name: name, members: canonicalSet(p.members)})
	}
	return m, nil
}

// has reports whether m has a group or preset of this canonical name.
func (m *member) has(name string) bool {
	return slices.ContainsFunc(m.groups, func(g spangate.Group) bool { return g.Name == name }) ||
		slices.ContainsFunc(m.presets, func(p preset) bool { return p.name == name })
}

// canonicalSet returns the canonical names, sorted, each once, without the empty one.
func canonicalSet(names []string) []string {
	set := make([]string, 0, len(names))
	for _, name := range names {
		if name = canonical(name); name != "" {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}
