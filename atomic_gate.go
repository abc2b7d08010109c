// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Gate is a [Mask] that a program reads at every site and swaps while it runs.
//
// The zero value is ready to use and has everything off. A Gate must not be copied after
// first use; go vet reports a copy. Every method may be called from any goroutine; as with
// the types of [sync/atomic], all of them take effect in one order that all goroutines see.
//
// Its methods are named as in [atomic.Uint64], where they do the same.
type Gate struct {
	_    [0]atomic.Uint64 // aligns word to 8 bytes on every processor, and is not to be copied
	_    cpu.CacheLinePad // keeps writes to a neighbour off the word's cache line; empty on wasm
	word uint64
	_    cpu.CacheLinePad
}

// NewGate returns a gate with the groups of m on.
func NewGate(m Mask) *Gate {
	g := new(Gate)
	g.Store(m)
	return g
}

// On reports whether some group of m is on; it is false for the empty m. It is one atomic
// load and one AND, and inlines: with a constant m, three instructions on amd64.
//
//	if gate.On(spangate.BitRollout) {
//		ctx, span = tracer.Start(ctx, "rollout", trace.WithAttributes(…))
//		defer span.End()
//	}
//
// Where [Compiled] is false On is the constant false, and the compiler drops what it guards.
func (g *Gate) On(m Mask) bool {
	// Not the Load method of an atomic.Uint64: for a call that is inlined in an inlined
	// call the compiler leaves a no-operation behind on arm64.
	return Compiled && Mask(atomic.LoadUint64(&g.word))&m != 0
}

// Load returns the groups that are on.
func (g *Gate) Load() Mask { return Mask(atomic.LoadUint64(&g.word)) }

// Store turns exactly the groups of m on.
func (g *Gate) Store(m Mask) { atomic.StoreUint64(&g.word, uint64(m)) }

// Swap turns exactly the groups of m on and returns those that were on before.
func (g *Gate) Swap(m Mask) (old Mask) { return Mask(atomic.SwapUint64(&g.word, uint64(m))) }

// CompareAndSwap turns exactly the groups of new on if exactly those of old are on, and
// reports whether it did.
func (g *Gate) CompareAndSwap(old, new Mask) (swapped bool) {
	return atomic.CompareAndSwapUint64(&g.word, uint64(old), uint64(new))
}

// Enable turns the groups of m on, leaves the others as they are, and returns the groups
// that were on before.
func (g *Gate) Enable(m Mask) (old Mask) { return Mask(atomic.OrUint64(&g.word, uint64(m))) }

// Disable turns the groups of m off, leaves the others as they are, and returns the groups
// that were on before.
func (g *Gate) Disable(m Mask) (old Mask) { return Mask(atomic.AndUint64(&g.word, ^uint64(m))) }
