// SPDX-License-Identifier: Apache-2.0

package registry

// Intent returns the spec or pin in force.
func Intent(r *Registry) (spec string, pin []string, pinned bool) {
	switch in := r.load().intent.(type) {
	case specIntent:
		return string(in), nil, false
	case pinIntent:
		return "", in, true
	}
	panic("not a spec or pin")
}

// Owned returns how many gates of the process have a registry, as far as the table knows.
func Owned() int {
	gates.mu.Lock()
	defer gates.mu.Unlock()
	return len(gates.owner)
}

// Sweep removes the entries of registries that have been collected.
func Sweep() {
	gates.mu.Lock()
	defer gates.mu.Unlock()
	gates.sweep()
}

const MaxQueued = maxQueued
