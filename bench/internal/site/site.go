// SPDX-License-Identifier: Apache-2.0

// Package site holds sites to be disassembled; they are never called.
//
// Each function is the same three statements with another guard around the one in the middle.
// The first keeps a guard from being the function's first instruction, ahead of which the
// compiler puts a no-operation; the last keeps the guard's branch from becoming a return. So
// the instructions of a function and those of Unguarded differ by the guard alone.
package site

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

var (
	entered, started, passed int

	gate           spangate.Gate
	registeredGate spangate.Gate
	word           uint64
)

func init() { _ = registry.Default().Register(spangate.Gym, &registeredGate) }

// Unguarded is a site that is always on.
func Unguarded() {
	entered++
	started++
	passed++
}

// Absent is no site.
func Absent() {
	entered++
	passed++
}

// ByHand is the load and AND that one would write without spangate.
func ByHand() {
	entered++
	if atomic.LoadUint64(&word)&(1<<10) != 0 {
		started++
	}
	passed++
}

// ByHandVariable is ByHand for a mask that is not known when the program is compiled.
func ByHandVariable(m uint64) {
	entered++
	if atomic.LoadUint64(&word)&m != 0 {
		started++
	}
	passed++
}

// ByHandPointer is ByHand for a word that the caller passes.
func ByHandPointer(word *uint64) {
	entered++
	if atomic.LoadUint64(word)&(1<<10) != 0 {
		started++
	}
	passed++
}

// Padded is a word with padding around it, as one would write it to the gate's end.
type Padded struct {
	_    cpu.CacheLinePad
	word uint64
	_    cpu.CacheLinePad
}

// ByHandPadded is ByHandPointer for a word with padding.
func ByHandPadded(p *Padded) {
	entered++
	if atomic.LoadUint64(&p.word)&(1<<10) != 0 {
		started++
	}
	passed++
}

// Gate is a constant bit on a package-level gate.
func Gate() {
	entered++
	if gate.On(spangate.BitRollout) {
		started++
	}
	passed++
}

// GateVariable is a mask that is not known when the program is compiled.
func GateVariable(m spangate.Mask) {
	entered++
	if gate.On(m) {
		started++
	}
	passed++
}

// GatePointer is a constant bit on a gate that the caller passes.
func GatePointer(g *spangate.Gate) {
	entered++
	if g.On(spangate.BitRollout) {
		started++
	}
	passed++
}

// GateRegistered is a constant bit on a gate that the process's registry sets.
func GateRegistered() {
	entered++
	if registeredGate.On(spangate.BitRollout) {
		started++
	}
	passed++
}
