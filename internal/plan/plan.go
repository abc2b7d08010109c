// SPDX-License-Identifier: Apache-2.0

// Package plan is the part of package registry that only package control uses: how a
// controller sets what is on in a registry, and what it reads beside the public state.
// Package registry implements it.
package plan

import (
	"errors"

	"github.com/spangate/spangate"
)

// Plan says which groups are on, from a baseline, leases and limits:
//
//	((Baseline − Quiet) ∪ Specs) − Deny, under Ceiling
//
// and the reach of each gate, which is what overrides may turn on for single traces:
//
//	Details − Deny, under Ceiling
//
// where Baseline, Deny and Ceiling are the groups that the spec selects, and Quiet, Specs and Details the
// union of what their specs select. With Admit, every group counts to Details. Each spec is resolved by itself: a group that one excludes,
// another may select. A spec that is too long selects nothing, and its beginning is
// pending.
//
// The zero value has everything off. The slices of a plan in force must not be changed.
type Plan struct {
	Baseline string
	Quiet    []string // takes away from Baseline only; the order does not matter
	Specs    []string // the order does not matter
	Details  []string // the order does not matter
	Admit    bool
	Deny     string
	Ceiling  string // empty is no limit; -all lets nothing through
}

// Cause says what made a generation.
type Cause struct{ Kind, Who, Why string }

// The kinds of the changes that a registry makes by its own methods.
const (
	KindNamespaces = "namespaces" // a namespace was registered, replaced or unregistered
	KindRegistry   = "registry"   // SetSpec or Pin
)

// Generation is one immutable state of a registry. Its methods are those of [registry.State],
// and what only a controller reads.
//
// [registry.State]: https://pkg.go.dev/github.com/spangate/spangate/registry#State
type Generation interface {
	Number() uint64
	Cause() Cause
	Pinned() bool
	Planned() bool // a plan is in force, and not a spec or pin
	Groups() []string
	Enabled() []string
	Pending() []string
	Presets() map[string][]string
	Resolve(spec string) (enabled, pending []string)
	Check(spec string) error
	// Words returns the groups that spec selects, as the masks of the gates that have some.
	Words(spec string) map[*spangate.Gate]spangate.Mask
	Members() []Member // sorted by namespace
}

// Member is a registered namespace: its catalog, which names the namespace, and its gate.
type Member struct {
	Catalog *spangate.Catalog
	Gate    *spangate.Gate
}

// Control is the right to set the plan of a registry. A change is made between Begin, which
// locks the registry, and End, which unlocks it:
//
//	now, ok := control.Begin()
//	if !ok { … }
//	defer control.End()
//	…
//	next := control.Commit(plan, cause)
//
// Commit, Records and Release may be called between the two only.
type Control interface {
	// Begin locks the registry and returns its generation. If the control has been released
	// it locks nothing and ok is false.
	Begin() (now Generation, ok bool)
	// Commit replaces the spec or plan in force with p, and returns the new generation, which
	// the gates and readers have by then. While a pin is in force, p is dropped, but the
	// generation is still a new one.
	Commit(p Plan, by Cause) Generation
	// Records returns functions that each log one record of the registry, in order, and
	// forgets them. They must be called without the lock. Those that are not taken are logged
	// by the next change that the registry makes by its own methods.
	Records() []func()
	// Release ends the right, and unregisters what [Attach] registered, unless it has been
	// replaced since. The plan stays in force.
	Release()
	// End unlocks the registry. No method calls the logger.
	End()
}

// Registration has the arguments of Registry.Register.
type Registration struct {
	Catalog *spangate.Catalog
	Gate    *spangate.Gate
	Options any // a []registry.RegisterOption
}

// ErrControlled is the error of [Attach] for a registry that has a control.
var ErrControlled = errors.New("registry has a controller")

// Attach makes the registrations of add and returns a control of r, which is a *registry.Registry and
// not nil, with a change begun: the registry is locked, now is its generation, and the caller must call
// End. A registry has one control at a time. The error is [ErrControlled] or one of Registry.Register;
// nothing is changed then.
//
// Until the control is released, observe is called with each generation that the registry makes
// by its own methods, and not with those of Commit: in order, with the lock held, and when the
// gates and readers have it. observe must return soon, and may call Records of the control. A
// panic in it reaches the caller of the method; the change stays made.
//
// Package registry sets Attach; it is a variable since this package can't import that one.
var Attach func(r any, add []Registration, observe func(Generation)) (c Control, now Generation, err error)
