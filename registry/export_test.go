// SPDX-License-Identifier: Apache-2.0

package registry

// Intent returns the spec or pin in force.
func Intent(r *Registry) (spec string, pin []string, pinned bool) {
	in := r.load().intent
	if in.kind == byPlan {
		panic("not a spec or pin")
	}
	return in.plan.Baseline, in.pin, in.kind == byPin
}

// Owned returns the number of entries in the table of gate owners.
func Owned() int {
	gateOwners.mu.Lock()
	defer gateOwners.mu.Unlock()
	return len(gateOwners.owner)
}

// Sweep removes the entries of registries that have been collected.
func Sweep() {
	gateOwners.mu.Lock()
	defer gateOwners.mu.Unlock()
	gateOwners.sweep()
}

const MaxQueued = maxQueued
