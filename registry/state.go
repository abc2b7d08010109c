// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// State is one generation of a [Registry], so that the results of several reads belong
// together. Get one from [Registry.State].
//
// The zero value is the state of an unused registry. A State is an immutable value; it may be
// copied and used by any number of goroutines.
type State struct{ g *generation }

// State returns the current state of r. That of a nil r is the zero State.
func (r *Registry) State() State { return State{r.load()} }

func (s State) load() *generation {
	if s.g == nil {
		return initial
	}
	return s.g
}

// Generation returns the number of the state: every change of a registry, whether or not it
// turns a group on or off, makes a state with a greater one.
func (s State) Generation() uint64 { return s.load().number }

// Groups returns the names of all groups, sorted.
func (s State) Groups() []string { return slices.Clone(s.load().vocabulary.names) }

// Namespaces returns the registered namespaces, sorted.
func (s State) Namespaces() []string { return s.load().vocabulary.namespaces() }

// Enabled returns the groups that are on, sorted.
func (s State) Enabled() []string {
	g := s.load()
	return g.vocabulary.list(g.enabled)
}

// Pending returns the names of the spec, pin or plan in force that are not registered: folded,
// sorted, each once.
func (s State) Pending() []string { return slices.Clone(s.load().pending) }

// Presets returns the live members of every preset, sorted: those whose owners are
// registered. It holds [spangate.NameAll] too, which is every group.
func (s State) Presets() map[string][]string { return s.load().vocabulary.presets() }

// Planned reports whether a [Plan] is in force, and not a spec or pin.
func (s State) Planned() bool {
	_, ok := s.load().intent.(planIntent)
	return ok
}

// Pinned reports whether a [Registry.Pin] is in force. Until the next SetSpec, no spec of a
// [Plan] turns a group on or off.
func (s State) Pinned() bool {
	_, ok := s.load().intent.(pinIntent)
	return ok
}

// Resolve returns the groups that spec would turn on, and the names in it that are not
// registered, folded; both sorted and each name once. A spec longer than [spangate.MaxSpecLen] is not
// read: it turns nothing on, and what is pending is its beginning followed by "…".
//
// It costs time and memory in proportion to the spec and the groups that it turns on.
func (s State) Resolve(spec string) (enabled, pending []string) {
	v := s.load().vocabulary
	set := v.borrowSet()
	defer v.returnSet(set)
	pending = newSpec(spec).resolve(v, set)
	return v.list(set), pending
}

// Check reads a spec strictly, for one that a person has just typed: it returns an error if
// text has a name that is not registered, or is longer than [spangate.MaxSpecLen]. The error
// is a [*spangate.ParseError] with every such name, its offset, the nearest registered name,
// and all registered names.
func (s State) Check(text string) error {
	v := s.load().vocabulary
	refused := &spangate.ParseError{Namespace: "this process", Spec: strings.Clone(spec.Head(text)), Err: spangate.ErrUnknownName}
	if len(text) > spec.MaxLen {
		refused.Err = fmt.Errorf("%w: %d bytes, at most %d are read", spangate.ErrSpecTooLong, len(text), spec.MaxLen)
		return refused
	}
	for e := range spec.Entries(text) {
		if _, ok := v.lookup(e.Name); !ok {
			refused.Unknown = append(refused.Unknown, spangate.UnknownName{Name: strings.Clone(e.Name), Offset: e.Offset})
		}
	}
	if refused.Unknown == nil {
		return nil
	}
	refused.Spec = strings.Clone(text)
	refused.Valid = slices.Concat(v.presetNames(), v.names)
	for i := range refused.Unknown {
		u := &refused.Unknown[i]
		u.Suggestion = spec.Nearest(u.Name, refused.Valid)
	}
	return refused
}

// Member is a group or preset as one namespace has it.
type Member struct {
	Namespace string
	// Bit is the group's in the namespace's mask; it is empty for a preset.
	Bit spangate.Mask
	// Doc is the namespace's doc of it, and may be empty.
	Doc string
}

// GroupMembers returns the namespaces that have a group of each name, sorted.
func (s State) GroupMembers() map[string][]Member {
	members := make(map[string][]Member)
	for _, m := range s.load().vocabulary.byNamespace() {
		for _, g := range m.groups {
			members[g.Name] = append(members[g.Name], Member{Namespace: m.namespace, Bit: g.Bit, Doc: g.Doc})
		}
	}
	return members
}

// Select calls of once with the gate of each namespace, and returns the groups of the namespace
// whose bits are in the mask that of returns; all groups together, sorted, each once. The gate
// is never nil. A nil of selects nothing.
func (s State) Select(of func(g *spangate.Gate) spangate.Mask) []string {
	names := []string{}
	if of == nil {
		return names
	}
	for _, m := range s.load().vocabulary.byNamespace() {
		mask := of(m.gate)
		for _, g := range m.groups {
			if mask.HasAny(g.Bit) {
				names = append(names, g.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PresetMembers returns the namespaces that have a preset of each name, sorted. It lacks
// [spangate.NameAll], which belongs to no namespace.
func (s State) PresetMembers() map[string][]Member {
	members := make(map[string][]Member)
	for _, m := range s.load().vocabulary.byNamespace() {
		for _, p := range m.presets {
			members[p.name] = append(members[p.name], Member{Namespace: m.namespace, Doc: p.doc})
		}
	}
	return members
}

// The methods below read the current state of the registry.

// Resolve is [State.Resolve].
func (r *Registry) Resolve(spec string) (enabled, pending []string) { return r.State().Resolve(spec) }

// Groups is [State.Groups].
func (r *Registry) Groups() []string { return r.State().Groups() }

// Namespaces is [State.Namespaces].
func (r *Registry) Namespaces() []string { return r.State().Namespaces() }

// Enabled is [State.Enabled].
func (r *Registry) Enabled() []string { return r.State().Enabled() }

// Pending is [State.Pending].
func (r *Registry) Pending() []string { return r.State().Pending() }

// Presets is [State.Presets].
func (r *Registry) Presets() map[string][]string { return r.State().Presets() }
