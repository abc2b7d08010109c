// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
)

// generation is one state of a registry: the registered namespaces, the intent, and the set
// that follows from the two. It is immutable, so that a reader never sees parts of two.
type generation struct {
	number     uint64     // one more than that of the generation before
	cause      plan.Cause // of the change that made it
	vocabulary *vocabulary
	intent     intent
	enabled    *bitset.BitSet // over vocabulary
	reach      *bitset.BitSet // over vocabulary: what overrides may turn on
	pending    []string
}

var _ plan.Generation = (*generation)(nil)

// initial is the generation of an unused registry.
var initial = new(generation).next(newVocabulary(nil), intent{}, plan.Cause{})

// next returns the generation after g. It is the only place where an intent becomes a set.
func (g *generation) next(v *vocabulary, in intent, by plan.Cause) *generation {
	enabled, reach := v.newSet(), v.newSet()
	pending := in.resolve(v, enabled, reach)
	return &generation{number: g.number + 1, cause: by, vocabulary: v, intent: in, enabled: enabled, reach: reach, pending: pending}
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

// The methods of [plan.Generation]; [State] documents those that are public.

func (g *generation) Number() uint64               { return g.number }
func (g *generation) Cause() plan.Cause            { return g.cause }
func (g *generation) Pinned() bool                 { return g.intent.kind == byPin }
func (g *generation) Planned() bool                { return g.intent.kind == byPlan }
func (g *generation) Groups() []string             { return slices.Clone(g.vocabulary.groups) }
func (g *generation) Enabled() []string            { return g.vocabulary.list(g.enabled) }
func (g *generation) Pending() []string            { return slices.Clone(g.pending) }
func (g *generation) Presets() map[string][]string { return g.vocabulary.presets() }

func (g *generation) Resolve(spec string) (enabled, pending []string) {
	v := g.vocabulary
	set := v.borrowSet()
	defer sets.Put(set)
	pending = v.resolve(spec, set)
	return v.list(set), pending
}

func (g *generation) Words(spec string) map[*spangate.Gate]spangate.Mask {
	v, words := g.vocabulary, make(map[*spangate.Gate]spangate.Mask)
	set := v.borrowSet()
	defer sets.Put(set)
	v.resolve(spec, set)
	for i, m := range v.members {
		if word := v.project(i, set); word != 0 {
			words[m.gate] = word
		}
	}
	return words
}

func (g *generation) Check(text string) error {
	if err := spec.CheckLen(text); err != nil {
		return &spangate.ParseError{Spec: strings.Clone(spec.Head(text)), Err: err}
	}
	v := g.vocabulary
	unknown := spec.Eval(text, v.meaning, func(meaning) {}, func(meaning) {})
	if unknown == nil {
		return nil
	}
	refused := &spangate.ParseError{Spec: strings.Clone(text), Valid: v.allNames(), Err: spangate.ErrUnknownName}
	for i, e := range unknown {
		u := spangate.UnknownName{Name: strings.Clone(e.Name), Offset: e.Offset}
		if i < spec.MaxSuggested {
			u.Suggestion = spec.Nearest(e.Name, refused.Valid)
		}
		refused.Unknown = append(refused.Unknown, u)
	}
	return refused
}

func (g *generation) Members() []plan.Member {
	members := make([]plan.Member, 0, len(g.vocabulary.members))
	for _, m := range g.vocabulary.members {
		members = append(members, plan.Member{Catalog: m.catalog, Gate: m.gate})
	}
	slices.SortFunc(members, func(a, b plan.Member) int {
		return strings.Compare(a.Catalog.Namespace(), b.Catalog.Namespace())
	})
	return members
}
