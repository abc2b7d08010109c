// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"context"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Gate is a [Mask] that every site of a program reads, and that may change while it runs.
//
// The zero value is ready to use and has everything off. A Gate must not be copied after first
// use; go vet reports a copy. It is safe for concurrent use, with the memory order of
// [sync/atomic]. Methods that [atomic.Uint64] has too are named as there.
type Gate struct {
	_     [0]atomic.Uint64 // aligns word to 8 bytes on every processor, and makes go vet report a copy
	_     cpu.CacheLinePad // so that no other variable shares word's cache line; empty on wasm
	word  uint64
	reach uint64
	_     cpu.CacheLinePad
}

// NewGate returns a gate with the groups of m on.
func NewGate(m Mask) *Gate {
	g := new(Gate)
	g.Store(m)
	return g
}

// On reports whether at least one group of m is on; it is false for the empty m. It is one atomic
// load and one AND, and inlines: with a constant m, three instructions on amd64.
//
//	if gate.On(BitQuery) {
//		var span trace.Span
//		ctx, span = tracer.Start(ctx, "query", trace.WithAttributes(…))
//		defer span.End()
//	}
//
// Where [Compiled] is false, On is the constant false, and the compiler drops the guarded code.
func (g *Gate) On(m Mask) bool {
	// Not the Load method of an atomic.Uint64: on arm64 the compiler leaves a no-operation
	// behind for a call that is inlined into an inlined call.
	return Compiled && Mask(atomic.LoadUint64(&g.word))&m != 0
}

// OnContext reports whether at least one group of m is on, for all or for the trace of ctx by its
// [Override]. A nil ctx has no override. While no override may turn on a group of m, OnContext is
// one load and one OR more than [Gate.On], and inlines.
func (g *Gate) OnContext(ctx context.Context, m Mask) bool {
	if Compiled && Mask(atomic.LoadUint64(&g.word)|atomic.LoadUint64(&g.reach))&m != 0 {
		return g.onOverridden(ctx, m)
	}
	return false
}

// onOverridden is OnContext for groups of which one is on or may be turned on by an override.
func (g *Gate) onOverridden(ctx context.Context, m Mask) bool {
	return g.On(m) || OverrideFromContext(ctx).On(g, m)
}

// Reach returns the groups that an override may turn on.
func (g *Gate) Reach() Mask { return Mask(atomic.LoadUint64(&g.reach)) }

// SetReach sets the groups that an override may turn on. With none, which is the zero value, no
// override has an effect on the gate. Package control sets the reach of the gates that it has.
func (g *Gate) SetReach(m Mask) { atomic.StoreUint64(&g.reach, uint64(m)) }

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
