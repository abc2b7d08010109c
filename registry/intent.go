// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
)

// intent selects what is on, in terms that hold for any vocabulary: a spec, a pin or a plan. It
// is immutable. The zero value is the empty spec.
type intent struct {
	kind intentKind
	plan plan.Plan // of a plan; a spec is its Baseline alone
	pin  []string  // of a pin: canonical group names, sorted, each once
}

type intentKind uint8

const (
	bySpec intentKind = iota
	byPin
	byPlan
)

// newSpec returns the intent of a spec, with a copy of text. A spec that is too long is cut to one
// byte over the limit, which still marks it as too long.
func newSpec(text string) intent {
	return intent{plan: plan.Plan{Baseline: strings.Clone(text[:min(len(text), spec.MaxLen+1)])}}
}

// resolve adds what is on in v to set, and what overrides may turn on to reach, which are both empty
// and over v. It returns the names that are not in v: canonical, sorted, each once, never nil.
func (in intent) resolve(v *vocabulary, set, reach *bitset.BitSet) []string {
	pending := []string{}
	if in.kind == byPin {
		for _, name := range in.pin {
			if i, ok := v.group(name); ok {
				set.Set(i)
			} else {
				pending = append(pending, name)
			}
		}
		return pending
	}
	scratch := v.borrowSet()
	defer sets.Put(scratch)
	selected := func(text string) *bitset.BitSet {
		pending = append(pending, v.resolve(text, scratch.ClearAll())...)
		return scratch
	}
	set.InPlaceUnion(selected(in.plan.Baseline))
	for _, text := range in.plan.Quiet {
		set.InPlaceDifference(selected(text))
	}
	for _, text := range in.plan.Specs {
		set.InPlaceUnion(selected(text))
	}
	for _, text := range in.plan.Details {
		reach.InPlaceUnion(selected(text))
	}
	if in.plan.Admit {
		reach.SetAll()
	}
	denied := selected(in.plan.Deny)
	set.InPlaceDifference(denied)
	reach.InPlaceDifference(denied)
	if in.plan.Ceiling != "" {
		allowed := selected(in.plan.Ceiling)
		set.InPlaceIntersection(allowed)
		reach.InPlaceIntersection(allowed)
	}
	slices.Sort(pending)
	return slices.Compact(pending)
}

// tooLong reports whether in is a spec over the length limit.
func (in intent) tooLong() bool { return in.kind == bySpec && len(in.plan.Baseline) > spec.MaxLen }

// selectsNothing reports whether in is written as everything off, so that it turns nothing on in
// any vocabulary.
func (in intent) selectsNothing() bool {
	return len(in.pin) == 0 && !maySelect(in.plan.Baseline) && !slices.ContainsFunc(slices.Concat(in.plan.Specs, in.plan.Details), maySelect)
}

// maySelect is false for the two ways to write that everything is off: text without an entry, and
// text that excludes all.
func maySelect(text string) bool {
	selects := false
	for e := range spec.Entries(text) {
		if e.Exclude && spec.Lower(e.Name) == spangate.NameAll {
			return false
		}
		selects = true
	}
	return selects
}

// attr returns in as an attribute of a record.
func (in intent) attr() slog.Attr {
	switch p := in.plan; in.kind {
	case byPin:
		return slog.Any("pin", excerpt(in.pin))
	case byPlan:
		return slog.Group("plan",
			slog.String("baseline", spec.Head(p.Baseline)), slog.Any("quiet", excerpt(p.Quiet)), slog.Any("specs", excerpt(p.Specs)), slog.Any("details", excerpt(p.Details)),
			slog.String("deny", spec.Head(p.Deny)), slog.String("ceiling", spec.Head(p.Ceiling)))
	default:
		return slog.String("spec", spec.Head(p.Baseline))
	}
}
