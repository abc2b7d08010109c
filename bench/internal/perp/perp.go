// SPDX-License-Identifier: Apache-2.0

// Package perp is a gate that keeps a copy of its word for each of the Go scheduler's
// processors. It was tried for spangate and turned down; docs/cost.md says why.
package perp

import (
	"runtime"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/cpu"
)

// Gate has one word a processor, each on a cache line of its own. It does not follow a
// change of GOMAXPROCS.
type Gate struct{ words []word }

type word struct {
	mask atomic.Uint64
	_    cpu.CacheLinePad
}

// NewGate returns a gate with everything off.
func NewGate() *Gate { return &Gate{words: make([]word, runtime.GOMAXPROCS(0))} }

// On reports whether some bit of m is on, by this processor's copy.
func (g *Gate) On(m uint64) bool {
	p := procPin()
	on := g.words[p].mask.Load()&m != 0
	procUnpin()
	return on
}

// Store sets every copy, one after the other: two sites can see two answers in between.
func (g *Gate) Store(m uint64) {
	for i := range g.words {
		g.words[i].mask.Store(m)
	}
}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
