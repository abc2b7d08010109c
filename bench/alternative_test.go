// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/bench/internal/perp"
)

// Bias.
//
// Measured: what was tried in place of one word behind one load, and turned down, each in the
// same loop as in BenchmarkCheck and with the same caveats. Each is the plainest form of its
// idea; docs/cost.md says what else spoke against it.
//
// Self-modifying code can't be written in Go. Its row is the best that it could do, a site
// that is no instruction at all.
//
// What the compiler might have removed: see BenchmarkCheck. The function behind the pointer
// is set at run time to one of two, so it is not inlined.
func BenchmarkAlternative(b *testing.B) {
	b.Run("one word: the gate", func(b *testing.B) {
		offSite(b, func(on bool) { gate.Store(spangate.Mask(word(on))) }, func(n int) {
			for range n {
				if gate.On(spangate.BitRollout) {
					passed++
				}
			}
		})
	})

	b.Run("four words, a constant bit of one of them", func(b *testing.B) {
		offSite(b, func(on bool) { four[2].Store(word(on)) }, func(n int) {
			for range n {
				if four[2].Load()&bit != 0 {
					passed++
				}
			}
		})
	})

	b.Run("four words, any bit of a wide set", func(b *testing.B) {
		want := [4]uint64{0, 0, bit, 1}
		offSite(b, func(on bool) { four[2].Store(word(on)) }, func(n int) {
			for range n {
				if fourOn(&want) {
					passed++
				}
			}
		})
	})

	b.Run("pointer swap to four words", func(b *testing.B) {
		offSite(b, func(on bool) { fourSwapped.Store(&[4]uint64{2: word(on)}) }, func(n int) {
			for range n {
				if fourSwapped.Load()[2]&bit != 0 {
					passed++
				}
			}
		})
	})

	b.Run("pointer swap to a map set", func(b *testing.B) {
		offSite(b, func(on bool) { mapSwapped.Store(names(on)) }, func(n int) {
			for range n {
				if _, ok := (*mapSwapped.Load())["rollout"]; ok {
					passed++
				}
			}
		})
	})

	b.Run("per-P copies of the word", func(b *testing.B) {
		g := perp.NewGate()
		offSite(b, func(on bool) { g.Store(word(on)) }, func(n int) {
			for range n {
				if g.On(bit) {
					passed++
				}
			}
		})
	})

	b.Run("function pointer", func(b *testing.B) {
		yes, no := func() bool { return true }, func() bool { return false }
		offSite(b, func(on bool) {
			if on {
				function.Store(&yes)
			} else {
				function.Store(&no)
			}
		}, func(n int) {
			for range n {
				if (*function.Load())() {
					passed++
				}
			}
		})
	})

	b.Run("a read lock around the word", func(b *testing.B) {
		offSite(b, func(on bool) { locked.store(word(on)) }, func(n int) {
			for range n {
				if locked.on(bit) {
					passed++
				}
			}
		})
	})

	b.Run("self-modifying code, at its best: an empty loop", emptyLoop)
}

// BenchmarkAlternativeStore is the other side of what makes reading cheaper: what a change of
// the set costs whoever makes it. The bias is that of BenchmarkAlternative.
func BenchmarkAlternativeStore(b *testing.B) {
	b.Run("one word: the gate", func(b *testing.B) {
		for i := range b.N {
			gate.Store(spangate.Mask(i))
		}
	})
	b.Run("pointer swap to four words", func(b *testing.B) {
		for i := range b.N {
			fourSwapped.Store(&[4]uint64{2: uint64(i)})
		}
	})
	b.Run("per-P copies of the word", func(b *testing.B) {
		g := perp.NewGate()
		for i := range b.N {
			g.Store(uint64(i))
		}
	})
}

var (
	four        [4]atomic.Uint64
	fourSwapped atomic.Pointer[[4]uint64]
	mapSwapped  atomic.Pointer[map[string]struct{}]
	function    atomic.Pointer[func() bool]
	locked      lockedWord
)

func fourOn(want *[4]uint64) bool {
	return four[0].Load()&want[0]|four[1].Load()&want[1]|four[2].Load()&want[2]|four[3].Load()&want[3] != 0
}

type lockedWord struct {
	mu   sync.RWMutex
	mask uint64
}

func (l *lockedWord) on(m uint64) bool {
	l.mu.RLock()
	on := l.mask&m != 0
	l.mu.RUnlock()
	return on
}

func (l *lockedWord) store(m uint64) {
	l.mu.Lock()
	l.mask = m
	l.mu.Unlock()
}
