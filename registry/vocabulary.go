// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"
	"sync"

	"github.com/bits-and-blooms/bitset"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// vocabulary holds the groups and presets of the registered namespaces, and the index that gives
// each group its bit in a set. It is immutable.
//
// Each change of the namespaces makes a new vocabulary with a new index. An index that only grows
// would save little work and would keep the names that are gone.
type vocabulary struct {
	members []*member // in the order of registration
	groups  []string  // sorted; bit i of a set stands for groups[i]
	meaning map[string]meaning
	index   [][]uint // index[i][j] is the bit in a set of group j of members[i].catalog
}

// meaning is what a name selects: a group, a preset's live members, or both.
type meaning struct {
	group   uint // its bit, if isGroup
	isGroup bool
	preset  *bitset.BitSet // nil if it is not a preset
}

func (m meaning) addTo(set *bitset.BitSet) {
	if m.isGroup {
		set.Set(m.group)
	}
	if m.preset != nil {
		set.InPlaceUnion(m.preset)
	}
}

func (m meaning) removeFrom(set *bitset.BitSet) {
	if m.isGroup {
		set.Clear(m.group)
	}
	if m.preset != nil {
		set.InPlaceDifference(m.preset)
	}
}

func newVocabulary(members []*member) *vocabulary {
	v := &vocabulary{members: members, groups: []string{}, meaning: make(map[string]meaning)}
	owned := make(map[string]bool) // the groups of members that do not yield
	for _, m := range members {
		for g := range m.catalog.Groups() {
			v.groups = append(v.groups, g.Name)
			owned[g.Name] = owned[g.Name] || !m.yields
		}
	}
	slices.Sort(v.groups)
	v.groups = slices.Compact(v.groups)
	for i, name := range v.groups {
		v.meaning[name] = meaning{group: uint(i), isGroup: true}
	}

	v.index = make([][]uint, len(members))
	for i, m := range members {
		for g := range m.catalog.Groups() {
			v.index[i] = append(v.index[i], v.meaning[g.Name].group)
		}
		for _, p := range m.presets {
			v.addPreset(p, func(name string) bool { return m.yields && owned[name] })
		}
	}
	v.meaning[spangate.NameAll] = meaning{preset: v.newSet().SetAll()}
	return v
}

// addPreset adds the members of p that are registered, and for which except is false, to the preset of
// its name.
func (v *vocabulary) addPreset(p preset, except func(name string) bool) {
	m := v.meaning[p.name]
	if m.preset == nil {
		m.preset = v.newSet()
		v.meaning[p.name] = m
	}
	for _, name := range p.members {
		if i, ok := v.group(name); ok && !except(name) {
			m.preset.Set(i)
		}
	}
}

// newSet returns an empty set.
func (v *vocabulary) newSet() *bitset.BitSet { return bitset.New(uint(len(v.groups))) }

// sets pools unused sets, so that no read allocates in proportion to the registry. As a field, the
// pool would keep its vocabulary, and so the gates, from being collected.
var sets sync.Pool

// borrowSet returns an empty set, to be put into sets after use.
func (v *vocabulary) borrowSet() *bitset.BitSet {
	if set, ok := sets.Get().(*bitset.BitSet); ok && set.Len() == uint(len(v.groups)) {
		return set.ClearAll()
	}
	return v.newSet()
}

// resolve adds the groups that text selects to set, which is over v, and returns the names that
// are not in v: folded, sorted, each once, never nil. A text that is too long is not read, and
// its beginning is returned.
func (v *vocabulary) resolve(text string, set *bitset.BitSet) []string {
	if spec.CheckLen(text) != nil {
		return []string{strings.Clone(spec.Head(text))}
	}
	unknown := spec.Eval(text, v.meaning, func(m meaning) { m.addTo(set) }, func(m meaning) { m.removeFrom(set) })
	pending := make([]string, 0, len(unknown))
	for _, e := range unknown {
		pending = append(pending, spec.Lower(e.Name))
	}
	slices.Sort(pending)
	return slices.Compact(pending)
}

// group returns the bit of the group of this canonical name, and reports whether there is
// one.
func (v *vocabulary) group(name string) (uint, bool) {
	m := v.meaning[name]
	return m.group, m.isGroup
}

// project returns the part of set that is members[i]'s, in its own bits.
func (v *vocabulary) project(i int, set *bitset.BitSet) spangate.Mask {
	var word spangate.Mask
	j := 0
	for g := range v.members[i].catalog.Groups() {
		if set.Test(v.index[i][j]) {
			word |= g.Bit
		}
		j++
	}
	return word
}

// list returns the names in set, sorted.
func (v *vocabulary) list(set *bitset.BitSet) []string {
	names := make([]string, 0, set.Count())
	for i := range set.EachSet() {
		names = append(names, v.groups[i])
	}
	return names
}

// presets returns the live members of every preset.
func (v *vocabulary) presets() map[string][]string {
	presets := make(map[string][]string)
	for name, m := range v.meaning {
		if m.preset != nil {
			presets[name] = v.list(m.preset)
		}
	}
	return presets
}

// presetNames returns the names of every preset, sorted.
func (v *vocabulary) presetNames() []string {
	var names []string
	for name, m := range v.meaning {
		if m.preset != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// allNames returns every name that a spec can have: the presets, then the groups, each sorted.
func (v *vocabulary) allNames() []string { return slices.Concat(v.presetNames(), v.groups) }

// namespaces returns the registered namespaces, sorted.
func (v *vocabulary) namespaces() []string {
	names := make([]string, 0, len(v.members))
	for _, m := range v.members {
		names = append(names, m.namespace())
	}
	slices.Sort(names)
	return names
}

// position returns where in members the namespace is, or -1.
func (v *vocabulary) position(namespace string) int {
	return slices.IndexFunc(v.members, func(m *member) bool { return m.namespace() == namespace })
}

// owner returns the member that has the gate, or nil.
func (v *vocabulary) owner(gate *spangate.Gate) *member {
	for _, m := range v.members {
		if m.gate == gate {
			return m
		}
	}
	return nil
}

// admit checks m against the registered namespaces. It returns the position in members of the
// namespace that m replaces, or -1. The error is an [*Error].
func (v *vocabulary) admit(m *member) (int, error) {
	i := v.position(m.namespace())
	if i >= 0 && !m.replace {
		return i, m.refuse(because(ErrNamespaceTaken, "it is registered already; unregister it first, or pass Override() to replace it"))
	}
	if other := v.owner(m.gate); other != nil && other.namespace() != m.namespace() {
		return i, m.refuse(because(ErrGateTaken, "it is the gate of "+clip(other.namespace())+", whose bits mean other groups; give each namespace a gate of its own"))
	}
	return i, nil
}
