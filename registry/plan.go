// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"log/slog"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/spangate/spangate/internal/spec"
)

// Plan says which groups are on, from a baseline, leases and limits:
//
//	((Baseline − Quiet) ∪ Specs) − Deny, under Ceiling
//
// where Baseline, Deny and Ceiling stand for the groups that the spec selects, and Quiet and
// Specs for the union of what their specs select. Each spec is resolved by itself: what one
// excludes, another may still select.
//
// The zero value has everything off. The caller must not change the slices of a plan that it
// gave to a [Registry]. A spec longer than [spangate.MaxSpecLen] is treated as by
// [State.Resolve].
type Plan struct {
	// Baseline selects the groups that are on while no other field says otherwise.
	Baseline string
	// Quiet selects groups to take away from what Baseline selects, and from nothing else:
	// a group of Specs stays on. The order does not matter.
	Quiet []string
	// Specs select the groups to add to the baseline. The order does not matter.
	Specs []string
	// Deny selects the groups that are off, whatever Baseline and Specs select. An empty
	// Deny denies nothing.
	Deny string
	// Ceiling selects the only groups that may be on. An empty Ceiling is no limit; one
	// that lets nothing through is -all.
	Ceiling string
}

// planIntent is a plan.
type planIntent Plan

var _ intent = planIntent{}

func (p planIntent) resolve(v *vocabulary, set *bitset.BitSet) []string {
	pending := []string{}
	one := v.borrowSet()
	defer v.returnSet(one)
	selectedBy := func(text string) *bitset.BitSet {
		one.ClearAll()
		if len(text) > spec.MaxLen {
			pending = append(pending, spec.Head(text))
		} else {
			pending = append(pending, specIntent(text).resolve(v, one)...)
		}
		return one
	}
	set.InPlaceUnion(selectedBy(p.Baseline))
	for _, text := range p.Quiet {
		set.InPlaceDifference(selectedBy(text))
	}
	for _, text := range p.Specs {
		set.InPlaceUnion(selectedBy(text))
	}
	set.InPlaceDifference(selectedBy(p.Deny))
	if p.Ceiling != "" {
		set.InPlaceIntersection(selectedBy(p.Ceiling))
	}
	slices.Sort(pending)
	return slices.Compact(pending)
}

func (p planIntent) wantsNothing() bool {
	if !specIntent(p.Baseline).wantsNothing() {
		return false
	}
	for _, text := range p.Specs {
		if !specIntent(text).wantsNothing() {
			return false
		}
	}
	return true
}

func (p planIntent) attr() slog.Attr {
	return slog.Group("plan",
		slog.String("baseline", spec.Head(p.Baseline)), slog.Any("quiet", some(p.Quiet)), slog.Any("specs", some(p.Specs)),
		slog.String("deny", spec.Head(p.Deny)), slog.String("ceiling", spec.Head(p.Ceiling)))
}
