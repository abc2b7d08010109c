// SPDX-License-Identifier: Apache-2.0

package registry

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
func (s State) Groups() []string { return s.load().Groups() }

// Namespaces returns the registered namespaces, sorted.
func (s State) Namespaces() []string { return s.load().vocabulary.namespaces() }

// Enabled returns the groups that are on, sorted.
func (s State) Enabled() []string { return s.load().Enabled() }

// Pending returns the names that are not registered of the spec or pin in force, or of what a
// controller has put in its place: folded, sorted, each once.
func (s State) Pending() []string { return s.load().Pending() }

// Presets returns the live members of every preset, sorted: those whose owners are
// registered. It holds [spangate.NameAll] too, which is every group.
func (s State) Presets() map[string][]string { return s.load().Presets() }

// Pinned reports whether a [Registry.Pin] is in force. Until the next SetSpec, no controller
// turns a group on or off.
func (s State) Pinned() bool { return s.load().Pinned() }

// Resolve returns the groups that spec would turn on, and the names in it that are not
// registered, folded; both sorted and each name once. A spec longer than [spangate.MaxSpecLen] is not
// read: it turns nothing on, and what is pending is its beginning followed by "…".
//
// It costs time and memory in proportion to the spec and the groups that it turns on.
func (s State) Resolve(spec string) (enabled, pending []string) { return s.load().Resolve(spec) }

// Check reads a spec strictly, for one that a person has just written: it returns an error if
// spec has a name that is not registered, or is longer than [spangate.MaxSpecLen]. The error
// is a [*spangate.ParseError] without a namespace, with every such name, its offset, the nearest
// registered name, and all registered names.
func (s State) Check(spec string) error { return s.load().Check(spec) }

// The methods below read the current state of the registry.

// Resolve is [State.Resolve].
func (r *Registry) Resolve(spec string) (enabled, pending []string) { return r.load().Resolve(spec) }

// Groups is [State.Groups].
func (r *Registry) Groups() []string { return r.load().Groups() }

// Namespaces is [State.Namespaces].
func (r *Registry) Namespaces() []string { return r.State().Namespaces() }

// Enabled is [State.Enabled].
func (r *Registry) Enabled() []string { return r.load().Enabled() }

// Pending is [State.Pending].
func (r *Registry) Pending() []string { return r.load().Pending() }

// Presets is [State.Presets].
func (r *Registry) Presets() map[string][]string { return r.load().Presets() }
