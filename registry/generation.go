// SPDX-License-Identifier: Apache-2.0

package registry

import "github.com/bits-and-blooms/bitset"

// generation is one state of a registry: who is registered, what is wanted, and what
// follows from the two. It is immutable, so that whoever holds one reads no other's parts.
type generation struct {
	number     uint64 // one more than that of the generation before
	vocabulary *vocabulary
	intent     intent
	enabled    *bitset.BitSet // over vocabulary
	pending    []string
}

// nobody is the generation of a registry that nobody has touched.
var nobody = new(generation).next(newVocabulary(nil), pinIntent(nil))

// next returns the generation after g. It is the one place where what is wanted becomes a
// set.
func (g *generation) next(v *vocabulary, in intent) *generation {
	set := v.newSet()
	pending := in.resolve(v, set)
	return &generation{number: g.number + 1, vocabulary: v, intent: in, enabled: set, pending: pending}
}

// load returns the current generation.
func (r *Registry) load() *generation {
	if g := r.current.Load(); g != nil {
		return g
	}
	return nobody
}
