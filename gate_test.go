// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/spangate/spangate"
)

func TestZeroGateIsOff(t *testing.T) {
	var g spangate.Gate
	assert.Zero(t, g.Load())
	assert.Zero(t, g.Reach())
	for i := range 64 {
		assert.False(t, g.On(1<<i))
	}
	assert.False(t, g.On(spangate.PresetAll))
}

func TestOnReportsWhetherAnyGroupOfTheMaskIsOn(t *testing.T) {
	for on := range spangate.Mask(256) {
		g := spangate.NewGate(on)
		require.Equal(t, on, g.Load())
		for m := range spangate.Mask(256) {
			require.Equal(t, spangate.Compiled && on.HasAny(m), g.On(m), "%v of %v", m, on)
		}
	}
}

func TestSwapEnableAndDisableReturnTheOldMask(t *testing.T) {
	g := spangate.NewGate(0b0011)
	assert.Equal(t, spangate.Mask(0b0011), g.Swap(0b0110))
	assert.Equal(t, spangate.Mask(0b0110), g.Enable(0b1100))
	assert.Equal(t, spangate.Mask(0b1110), g.Disable(0b0101))
	assert.Equal(t, spangate.Mask(0b1010), g.Load())
	assert.False(t, g.CompareAndSwap(0b1011, 0b1111))
	assert.Equal(t, spangate.Mask(0b1010), g.Load())
	assert.True(t, g.CompareAndSwap(0b1010, 0b1111))
	assert.Equal(t, spangate.Mask(0b1111), g.Load())
	g.Store(0)
	assert.Zero(t, g.Load())
}

// Each goroutine toggles its own bit, which no other may change. A read and a write that are not
// one atomic step show only after many rounds.
func TestEnableAndDisableLoseNoBit(t *testing.T) {
	rounds := 3_000_000
	if raceEnabled {
		rounds = 5_000 // enough: the detector itself interleaves goroutines
	}
	var g spangate.Gate
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			bit := spangate.Mask(1) << (i * 9)
			for range rounds {
				if g.Enable(bit).HasAny(bit) || !g.Disable(bit).HasAny(bit) {
					t.Errorf("another goroutine changed bit %d", i)
					return
				}
			}
			g.Enable(bit)
		})
	}
	wg.Wait()
	assert.Equal(t, spangate.Mask(0x8040201008040201), g.Load())
}

// Every word stored by a swap is returned by another swap or is the last one.
func TestSwapLosesNoWord(t *testing.T) {
	const workers, rounds = 4, 50_000
	var g spangate.Gate
	var out [workers]uint64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := range rounds {
				out[w] += uint64(g.Swap(spangate.Mask(n*workers + w + 1)))
			}
		})
	}
	wg.Wait()
	sum := uint64(g.Load())
	for _, s := range out {
		sum += s
	}
	const n = workers * rounds
	assert.Equal(t, uint64(n*(n+1)/2), sum)
}

// Writers publish only words in which each half is the complement of the other.
func TestReadersSeeOnlyWordsThatWereWritten(t *testing.T) {
	word := func(n uint32) spangate.Mask { return spangate.Mask(n)<<32 | spangate.Mask(^n) }
	g := spangate.NewGate(word(0))
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for w := range uint32(4) {
		writers.Go(func() {
			for n := range uint32(2000) {
				m := word(n<<2 | w)
				switch n % 3 {
				case 0:
					g.Store(m)
				case 1:
					g.Swap(m)
				default:
					for old := g.Load(); !g.CompareAndSwap(old, m); old = g.Load() {
					}
				}
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					runtime.Gosched() // on wasm nothing else lets the writers run
				}
				if m := g.Load(); m != word(uint32(m>>32)) {
					t.Errorf("torn word %v", m)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

func TestCompareAndSwapIsAtomic(t *testing.T) {
	var g spangate.Gate
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				for old := g.Load(); !g.CompareAndSwap(old, old+1); old = g.Load() {
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, spangate.Mask(8000), g.Load())
}

// A goroutine that finds a group on sees what another wrote before it enabled the group, as with
// sync/atomic.
func TestEnableHappensBeforeAnOnThatReturnsTrue(t *testing.T) {
	if !spangate.Compiled {
		return // On is constant: there is nothing to wait for
	}
	var g spangate.Gate
	payload := 0
	go func() {
		payload = 42
		g.Enable(spangate.BitRollout)
	}()
	require.Eventually(t, func() bool { return g.On(spangate.BitRollout) }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 42, payload)
}

// In an array, the padding of two neighbours may share a cache line, but no words of two gates do.
func TestGateHasACacheLineToItself(t *testing.T) {
	const line = unsafe.Sizeof(cpu.CacheLinePad{}) // 0 on wasm
	const words = 2 * unsafe.Sizeof(uint64(0))
	var gates [2]spangate.Gate
	size := unsafe.Sizeof(gates[0])
	assert.GreaterOrEqual(t, size, line+words+line)
	assert.Zero(t, size%8, "neighbours in an array stay aligned")
	assert.Zero(t, uintptr(unsafe.Pointer(&gates[0]))%8)
}

// On 386 a 64-bit word that is not 8-aligned panics when it is read atomically, wherever
// the gate is in a struct.
func TestGateIsAlignedInsideAStruct(t *testing.T) {
	s := &struct {
		b1 byte
		g1 spangate.Gate
		b2 byte
		g2 spangate.Gate
	}{}
	assert.Zero(t, uintptr(unsafe.Pointer(&s.g1))%8)
	assert.Zero(t, uintptr(unsafe.Pointer(&s.g2))%8)
	s.g2.Store(1)
	s.g1.Enable(1 << 63)
	assert.Equal(t, spangate.Mask(1), s.g2.Load())
	assert.Equal(t, spangate.Mask(1<<63), s.g1.Load())
}

func TestVetReportsACopiedGate(t *testing.T) {
	out, err := exec.Command("go", "vet", "-copylocks", "./testdata/copied").CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), "assignment copies lock value")
	assert.Contains(t, string(out), "spangate.Gate")
}
