// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"

	"github.com/spangate/spangate"
)

// RegisterOption is an option of [Registry.Register]: [Override], [Shared], [Yield] or [Preset]. A nil
// one has no effect.
type RegisterOption func(*member)

// Override lets Register replace a namespace of the same name, with all its groups and presets.
// The old gate is set to zero, unless the new registration has the same gate. Override includes
// [Shared].
func Override() RegisterOption {
	return func(m *member) { m.replace, m.shared = true, true }
}

// Shared turns off the warning about names that other namespaces have too. It does not replace a
// namespace.
func Shared() RegisterOption {
	return func(m *member) { m.shared = true }
}

// Yield leaves out of the presets of the namespace each group that a namespace without Yield has too,
// while that is registered: its presets decide for both. It is for groups that are made of what a
// program does or configures, as [Scopes] makes them. Yield includes [Shared].
func Yield() RegisterOption {
	return func(m *member) { m.yields, m.shared = true, true }
}

// Preset adds a preset whose members are given by name, so that it can hold groups of other
// namespaces. While a member's owner is not registered the member is ignored, with a
// warning. A preset that the catalog or another namespace has too holds the members of all
// of them.
//
// Members are groups, not presets. A blank one is skipped.
func Preset(name string, members ...string) RegisterOption {
	p := preset{name: name, members: slices.Clone(members)}
	return func(m *member) { m.presets = append(m.presets, p) }
}

// preset is a named list of group names. The groups need not be registered.
type preset struct {
	name    string
	members []string
}

// member is one registered namespace: its catalog and gate, and the presets of the catalog and
// of the options. Once it is registered it is immutable, and its names are canonical; only the
// gate's word changes.
type member struct {
	catalog         *spangate.Catalog
	gate            *spangate.Gate
	presets         []preset
	replace, shared bool // what Override and Shared allow
	yields          bool // as Yield says
}

// newMember returns the member of Register's arguments. Its presets are those of the options only,
// as given, until completePresets. The error is an [*Error].
func newMember(c *spangate.Catalog, g *spangate.Gate, opts []RegisterOption) (*member, error) {
	if c == nil {
		return nil, &Error{Op: "register", Err: because(ErrNilCatalog, "make one with spangate.NewCatalog")}
	}
	m := &member{catalog: c, gate: g}
	if g == nil {
		return nil, m.refuse(because(ErrNilGate, "pass the gate that the library's sites read"))
	}
	if m.namespace() == "" {
		return nil, m.refuse(because(ErrEmptyNamespace, "make the catalog with spangate.NewCatalog"))
	}
	for _, opt := range opts {
		if opt != nil {
			opt(m)
		}
	}
	return m, nil
}

// completePresets makes the presets of the options canonical, and adds those of the catalog. The
// error is an [*Error] for the first preset that is refused.
func (m *member) completePresets() error {
	for i, p := range m.presets {
		name := canonical(p.name)
		err := checkName(name)
		if _, taken := m.catalog.Group(name); taken && err == nil {
			err = because(spangate.ErrDuplicateName, "the namespace has a group of that name; choose another for the preset")
		}
		if err != nil {
			return &Error{Op: "register", Namespace: m.namespace(), Name: p.name, Err: fmt.Errorf("preset: %w", err)}
		}
		m.presets[i] = preset{name, canonicalSet(p.members)}
	}
	for p := range m.catalog.Presets() {
		if p.Name != spangate.NameAll {
			m.presets = append(m.presets, preset{p.Name, m.catalog.Names(p.Mask)})
		}
	}
	return nil
}

func (m *member) namespace() string { return m.catalog.Namespace() }

// refuse returns the error of Register for this reason.
func (m *member) refuse(reason error) error {
	return &Error{Op: "register", Namespace: m.namespace(), Err: reason}
}

// has reports whether m has a group or preset of this canonical name.
func (m *member) has(name string) bool {
	_, isGroup := m.catalog.Group(name)
	return isGroup || slices.ContainsFunc(m.presets, func(p preset) bool { return p.name == name })
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
