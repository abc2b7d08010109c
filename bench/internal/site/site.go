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
	"time"

	"golang.org/x/sys/cpu"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// The statements of every site. Nobody reads what they count.
var Entered, Started, Passed int

var (
	gate           spangate.Gate
	registeredGate spangate.Gate
	word           uint64
)

func init() {
	_ = registry.Default().Register(spangate.Gym, &registeredGate)
	c, err := control.New(registry.Default())
	if err != nil {
		return
	}
	_, _ = c.Lease(control.LeaseRequest{Owner: "site", Spec: "sandbox", TTL: time.Hour})
	_, _ = c.WatchFile("spans")
}

// Unguarded is a site that is always on.
func Unguarded() {
	Entered++
	Started++
	Passed++
}

// Absent is no site.
func Absent() {
	Entered++
	Passed++
}

// ByHand is the load and AND that one would write without spangate.
func ByHand() {
	Entered++
	if atomic.LoadUint64(&word)&(1<<10) != 0 {
		Started++
	}
	Passed++
}

// ByHandVariable is ByHand for a mask that is not known when the program is compiled.
func ByHandVariable(m uint64) {
	Entered++
	if atomic.LoadUint64(&word)&m != 0 {
		Started++
	}
	Passed++
}

// ByHandPointer is ByHand for a word that the caller passes.
func ByHandPointer(word *uint64) {
	Entered++
	if atomic.LoadUint64(word)&(1<<10) != 0 {
		Started++
	}
	Passed++
}

// Padded is a word with padding around it, as one would write it to the gate's end.
type Padded struct {
	_    cpu.CacheLinePad
	word uint64
	_    cpu.CacheLinePad
}

// ByHandPadded is ByHandPointer for a word with padding.
func ByHandPadded(p *Padded) {
	Entered++
	if atomic.LoadUint64(&p.word)&(1<<10) != 0 {
		Started++
	}
	Passed++
}

// Gate is a constant bit on a package-level gate.
func Gate() {
	Entered++
	if gate.On(spangate.BitRollout) {
		Started++
	}
	Passed++
}

// GateVariable is a mask that is not known when the program is compiled.
func GateVariable(m spangate.Mask) {
	Entered++
	if gate.On(m) {
		Started++
	}
	Passed++
}

// GatePointer is a constant bit on a gate that the caller passes.
func GatePointer(g *spangate.Gate) {
	Entered++
	if g.On(spangate.BitRollout) {
		Started++
	}
	Passed++
}

// GateRegistered is a constant bit on a gate that the process's registry sets, under a
// controller with a lease and a watched file.
func GateRegistered() {
	Entered++
	if registeredGate.On(spangate.BitRollout) {
		Started++
	}
	Passed++
}
