// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: what the gate's padding buys. A site is checked while another goroutine writes,
// as fast as it can, to a variable nearby: the one that follows the gate in memory, or one in
// the padding right beside the word, where a neighbour could be if there were no padding.
// Gate and loop are the same in all rows.
//
// The writer is the worst neighbour there is. It needs a processor of its own: with one
// processor all rows are alike, and with two that others use too they spread.
//
// Not measured: what the padding costs, which is memory (120 bytes instead of 8 on amd64) and,
// on arm64, an ADD to reach the word of a gate behind a pointer, since LDAR takes no offset
// (cmd/budgets shows it). A package-level gate pays nothing.
//
// What the compiler might have removed: see BenchmarkCheck.
func BenchmarkGrowthNeighbour(b *testing.B) {
	v := new(struct {
		gate  spangate.Gate
		after atomic.Uint64
	})
	for _, row := range []struct {
		name string
		hot  *atomic.Uint64
	}{
		{"nobody writes nearby", nil},
		{"hot neighbour, kept away by the padding", &v.after},
		{"hot neighbour, as without padding", beside(&v.gate)},
	} {
		b.Run(row.name, func(b *testing.B) {
			defer hammer(row.hot)()
			timed(b, func(n int) {
				for range n {
					if v.gate.On(spangate.BitRollout) {
						passed++
					}
				}
			})
		})
	}
}

// beside returns a variable in the padding of g that is on the word's cache line.
func beside(g *spangate.Gate) *atomic.Uint64 {
	const word = (unsafe.Sizeof(*g) - 8) / 2 // the padding is the same on both sides
	if (uintptr(unsafe.Pointer(g))+word)%64 < 8 {
		return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(g), word+8))
	}
	return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(g), word-8))
}

// hammer writes to word, if there is one, until stop is called.
func hammer(word *atomic.Uint64) (stop func()) {
	if word == nil {
		return func() {}
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		close(started)
		for !done.Load() {
			word.Add(1)
		}
	})
	<-started
	return func() {
		done.Store(true)
		wg.Wait()
	}
}
