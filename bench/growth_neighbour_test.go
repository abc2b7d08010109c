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
// as fast as it can, to the variable that lies next to the gate's word in memory; once with
// the gate as it is and once with a bare word. "quiet" is the same without the writer.
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
	type padded struct {
		gate      spangate.Gate
		neighbour atomic.Uint64
	}
	type bare struct {
		mask      atomic.Uint64
		neighbour atomic.Uint64
	}
	if size := unsafe.Sizeof(bare{}); size != 16 {
		b.Fatalf("the bare word and its neighbour take %d bytes; Go aligns 16 so that they share a cache line", size)
	}
	for _, mode := range []struct {
		name string
		hot  bool
	}{{"quiet neighbour", false}, {"hot neighbour", true}} {
		b.Run("gate, "+mode.name, func(b *testing.B) {
			v := new(padded)
			defer hammer(&v.neighbour, mode.hot)()
			b.ResetTimer()
			hits := 0
			for range b.N {
				if v.gate.On(spangate.BitRollout) {
					hits++
				}
			}
			stayedOff(b, hits)
		})
		b.Run("bare word, "+mode.name, func(b *testing.B) {
			v := new(bare)
			defer hammer(&v.neighbour, mode.hot)()
			b.ResetTimer()
			hits := 0
			for range b.N {
				if v.mask.Load()&bit != 0 {
					hits++
				}
			}
			stayedOff(b, hits)
		})
	}
}

// hammer writes to word until stop is called, if hot.
func hammer(word *atomic.Uint64, hot bool) (stop func()) {
	if !hot {
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
