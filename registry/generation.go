// SPDX-License-Identifier: Apache-2.0

package registry

import "github.com/bits-and-blooms/bitset"

// generation is one state of a registry: the registered namespaces, the intent, and the set
// that follows from the two. It is immutable, so that a reader never sees parts of two.
type generation struct {
	number     uint64 // one more than that of the generation before
	vocabulary *vocabulary
	intent     intent
	enabled    *bitset.BitSet // over vocabulary
	pending    []string
}

// initial is the generation of an unused registry.
var initial = new(generation).next(newVocabulary(nil), specIntent(""))

// next returns the generation after g. It is the only place where an intent becomes a set.
func (g *generation) next(v *vocabulary, in intent) *generation {
	set := v.newSet()
	pending := in.resolve(v, set)
	return &generation{number: g.number + 1, vocabulary: v, intent: in, enabled: set, pending: pending}
}

// load returns the current generation; for a nil registry, the initial one.
func (r *Registry) load() *generation {
	if r != nil {
		if g := r.current.Load(); g != nil {
			return g
		}
	}
	return initial
}
