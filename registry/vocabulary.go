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
// A new vocabulary, with a new index, is made whenever a namespace comes or goes. An index
// that only grew would save that little work, and would never drop a name.
type vocabulary struct {
	members []*member // in the order in which they came
	names   []string  // the groups, sorted; bit i of a set stands for names[i]
	meaning map[string]meaning
	index   [][]uint // index[i][j] is the bit that members[i].groups[j] has in a set
	sets    sync.Pool
}

// meaning is what a name selects: a group, a preset's live members, or both.
type meaning struct {
	group   uint // its bit, if isGroup
	isGroup bool
	preset  *bitset.BitSet // nil if it is no preset
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
	v := &vocabulary{members: members, names: []string{}, meaning: make(map[string]meaning)}
	for _, m := range members {
		for _, g := range m.groups {
			v.names = append(v.names, g.Name)
		}
	}
	slices.Sort(v.names)
	v.names = slices.Compact(v.names)
	for i, name := range v.names {
		v.meaning[name] = meaning{group: uint(i), isGroup: true}
	}

	v.index = make([][]uint, len(members))
	for i, m := range members {
		for _, g := range m.groups {
			v.index[i] = append(v.index[i], v.meaning[g.Name].group)
		}
		for _, p := range m.presets {
			v.addPreset(p)
		}
	}
	v.meaning[spangate.NameAll] = meaning{preset: v.newSet().SetAll()}
	return v
}

// addPreset adds the members of p that are registered to the preset of its name.
func (v *vocabulary) addPreset(p preset) {
	m := v.meaning[p.name]
	if m.preset == nil {
		m.preset = v.newSet()
		v.meaning[p.name] = m
	}
	for _, name := range p.members {
		if i, ok := v.group(name); ok {
			m.preset.Set(i)
		}
	}
}

// newSet returns an empty set.
func (v *vocabulary) newSet() *bitset.BitSet { return bitset.New(uint(len(v.names))) }

// borrowSet returns an empty set, to be given to returnSet after use, so that a read allocates
// nothing in proportion to the registry.
func (v *vocabulary) borrowSet() *bitset.BitSet {
	if set, ok := v.sets.Get().(*bitset.BitSet); ok {
		return set.ClearAll()
	}
	return v.newSet()
}

func (v *vocabulary) returnSet(set *bitset.BitSet) { v.sets.Put(set) }

// lookup returns what name means, in any case, and reports whether it means anything.
func (v *vocabulary) lookup(name string) (meaning, bool) {
	if m, ok := v.meaning[name]; ok {
		return m, true
	}
	var buf [spec.MaxNameLen]byte
	folded, ok := spec.Fold(&buf, name)
	if !ok {
		return meaning{}, false
	}
	m, ok := v.meaning[string(folded)]
	return m, ok
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
	for j, g := range v.members[i].groups {
		if set.Test(v.index[i][j]) {
			word |= g.Bit
		}
	}
	return word
}

// list returns the names in set, sorted.
func (v *vocabulary) list(set *bitset.BitSet) []string {
	names := make([]string, 0, set.Count())
	for i := range set.EachSet() {
		names = append(names, v.names[i])
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

// byNamespace returns the members, sorted.
func (v *vocabulary) byNamespace() []*member {
	return slices.SortedFunc(slices.Values(v.members), func(a, b *member) int { return strings.Compare(a.namespace, b.namespace) })
}

// namespaces returns the registered namespaces, sorted.
func (v *vocabulary) namespaces() []string {
	names := make([]string, 0, len(v.members))
	for _, m := range v.members {
		names = append(names, m.namespace)
	}
	slices.Sort(names)
	return names
}

// position returns where in members the namespace is, or -1.
func (v *vocabulary) position(namespace string) int {
	return slices.IndexFunc(v.members, func(m *member) bool { return m.namespace == namespace })
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
