// SPDX-License-Identifier: Apache-2.0

// Package site has sites to disassemble; nothing calls them.
//
// Each function is the same three statements with another guard around the second. The first
// statement keeps the guard from being the first instruction, before which the compiler puts a
// no-operation; the last keeps the guard's branch from becoming a return. So the
// instructions of a function and those of Unguarded differ by the guard alone.
package site

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// The statements of every site. Nothing reads the counts.
var Entered, Started, Passed int

var (
	gate           spangate.Gate
	registeredGate spangate.Gate
	word, reach    atomic.Uint64
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

// Absent has no site.
func Absent() {
	Entered++
	Passed++
}

// Constant is a constant bit of a package-level gate.
func Constant() {
	Entered++
	if gate.On(spangate.BitRollout) {
		Started++
	}
	Passed++
}

// Registered is a constant bit of a gate that a registry sets, under a controller with a lease
// and a watched file.
func Registered() {
	Entered++
	if registeredGate.On(spangate.BitRollout) {
		Started++
	}
	Passed++
}

// ConstantByHand is Constant without a Gate.
func ConstantByHand() {
	Entered++
	if word.Load()&(1<<10) != 0 {
		Started++
	}
	Passed++
}

// Pointer is a constant bit of a gate that the caller passes.
func Pointer(g *spangate.Gate) {
	Entered++
	if g.On(spangate.BitRollout) {
		Started++
	}
	Passed++
}

// Padded is a word with a cache line to itself, as in a Gate.
type Padded struct {
	_    cpu.CacheLinePad
	word uint64
	_    cpu.CacheLinePad
}

// PointerByHand is Pointer without a Gate.
func PointerByHand(p *Padded) {
	Entered++
	if atomic.LoadUint64(&p.word)&(1<<10) != 0 {
		Started++
	}
	Passed++
}

// Variable is a mask that is known at run time only.
func Variable(m spangate.Mask) {
	Entered++
	if gate.On(m) {
		Started++
	}
	Passed++
}

// VariableByHand is Variable without a Gate.
func VariableByHand(m uint64) {
	Entered++
	if word.Load()&m != 0 {
		Started++
	}
	Passed++
}

// Context is Constant with a context.
func Context(ctx context.Context) {
	Entered++
	if gate.OnContext(ctx, spangate.BitRollout) {
		Started++
	}
	Passed++
}

// ContextByHand is Context without a Gate.
func ContextByHand(ctx context.Context) {
	Entered++
	if (word.Load()|reach.Load())&(1<<10) != 0 && overridden(ctx) {
		Started++
	}
	Passed++
}

// overridden stands for the method that OnContext calls.
//
//go:noinline
func overridden(ctx context.Context) bool { return ctx != nil }
