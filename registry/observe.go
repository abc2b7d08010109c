// SPDX-License-Identifier: Apache-2.0

package registry

import "slices"

// observer is what [Registry.Observe] was given, as something that can be told apart.
type observer struct {
	see func(old, new State) (after func())
}

// Observe has see called in every change that r makes from now on, with the states before
// and after it: in the order of the changes, none left out, when the gates show the change
// and before [Registry.State] does. It runs with the registry's lock held, so it may ask r
// anything but must change nothing in it, and should be quick.
//
// What has time, or does change r, goes into the function that see returns, unless it is
// nil: those are called in the order of the changes, one at a time, with no lock held. As
// with what is logged, whoever made a change calls it before the change returns, or leaves
// it to somebody else who is busy calling the ones before.
//
// stop ends it: see is not called again once it has returned. stop changes r.
func (r *Registry) Observe(see func(old, new State) (after func())) (stop func()) {
	o := &observer{see}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observers = append(r.observers, o)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.observers = slices.DeleteFunc(r.observers, func(other *observer) bool { return other == o })
	}
}
