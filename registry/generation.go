// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// generation is one state of a registry: who is registered, what is wanted, and what
// follows from the two. It is immutable, so that whoever holds one reads no other's parts.
type generation struct {
	vocabulary *vocabulary
	intent     intent
	enabled    *bitset.BitSet // over vocabulary
	pending    []string
}

// nobody is the generation of a registry that nobody has touched.
var nobody = newGeneration(newVocabulary(nil), pinIntent(nil))

// newGeneration is the one place where what is wanted becomes a set.
func newGeneration(v *vocabulary, in intent) *generation {
	set := v.newSet()
	pending := in.resolve(v, set)
	return &generation{vocabulary: v, intent: in, enabled: set, pending: pending}
}

// load returns the current generation.
func (r *Registry) load() *generation {
	if g := r.current.Load(); g != nil {
		return g
	}
	return nobody
}

// Resolve returns the groups that spec would turn on, and the names in it that nobody has,
// folded; both sorted and each name once. It changes and logs nothing. A spec longer than
// [spangate.MaxSpecLen] is not read: it turns nothing on, and what is pending is its
// beginning followed by "…".
//
// It costs time and memory in proportion to the spec and the groups that it turns on.
func (r *Registry) Resolve(spec string) (enabled, pending []string) {
	v := r.load().vocabulary
	set := v.borrowSet()
	defer v.returnSet(set)
	pending = newSpec(spec).resolve(v, set)
	return v.list(set), pending
}

// Groups returns the names of all groups, sorted.
func (r *Registry) Groups() []string { return slices.Clone(r.load().vocabulary.names) }

// Namespaces returns who is registered, sorted.
func (r *Registry) Namespaces() []string { return r.load().vocabulary.namespaces() }

// Enabled returns the groups that are on, sorted.
func (r *Registry) Enabled() []string {
	g := r.load()
	return g.vocabulary.list(g.enabled)
}

// Pending returns the names that the spec or pin asks for and nobody has: folded, sorted,
// each once.
func (r *Registry) Pending() []string { return slices.Clone(r.load().pending) }

// Presets returns the live members of every preset, sorted: those whose owners are
// registered. It holds [spangate.NameAll] too, which is every group.
func (r *Registry) Presets() map[string][]string { return r.load().vocabulary.presets() }
