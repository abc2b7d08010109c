// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"sync"
	"weak"

	"github.com/spangate/spangate"
)

// gateOwners holds the registry of each registered gate of the process, so that no two registries
// write to one gate. It is not a field of the gate, which would take room on the cache line that
// every site reads.
var gateOwners owners

// owners maps gates to the registries that they are registered with. It keeps neither alive:
// a gate is free again when its registry has been collected. The zero value is empty and ready
// to use; its methods may be called from any goroutine.
type owners struct {
	mu    sync.Mutex
	owner map[weak.Pointer[spangate.Gate]]weak.Pointer[Registry]
	limit int // the number of entries at which claim calls sweep
}

// claim makes r the owner of g, unless another registry is, and reports whether r is.
func (o *owners) claim(g *spangate.Gate, r *Registry) bool {
	gate, claimant := weak.Make(g), weak.Make(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	if owner, ok := o.owner[gate]; ok && owner != claimant && owner.Value() != nil {
		return false
	}
	if len(o.owner) >= o.limit {
		o.sweep()
	}
	o.owner[gate] = claimant
	return true
}

// release frees g, whose owner is the calling registry.
func (o *owners) release(g *spangate.Gate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.owner, weak.Make(g))
}

// sweep removes the entries of registries that have been collected. It runs again when the
// number of entries has doubled, and is at least minOwners, so that a claim costs constant time
// on average.
func (o *owners) sweep() {
	const minOwners = 64
	if o.owner == nil {
		o.owner = make(map[weak.Pointer[spangate.Gate]]weak.Pointer[Registry])
	}
	for gate, owner := range o.owner {
		if owner.Value() == nil {
			delete(o.owner, gate)
		}
	}
	o.limit = max(minOwners, 2*len(o.owner))
}
