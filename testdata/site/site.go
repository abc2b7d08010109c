// SPDX-License-Identifier: Apache-2.0

// Package site has sites to disassemble. Each function with a site stands beside one that
// is the same without it or with the load and AND written by hand, so that what the
// compiler makes of the site is the difference.
package site

import (
	"sync/atomic"

	"github.com/spangate/spangate"
)

var (
	gate spangate.Gate
	word atomic.Uint64
)

//go:noinline
func body() {}

// Bare has no site.
func Bare() { body() }

// Site is the usual one: a gate of the package, a constant bit.
func Site() {
	if gate.On(spangate.BitRollout) {
		body()
	}
}

// ByHand is Site without a Gate.
func ByHand() {
	if word.Load()&uint64(spangate.BitRollout) != 0 {
		body()
	}
}

// Nothing is what Site is to become when sites are compiled out.
func Nothing() {}

// Variable is a site whose groups are known at run time only.
func Variable(m spangate.Mask) {
	if gate.On(m) {
		body()
	}
}

// VariableByHand is Variable without a Gate.
func VariableByHand(m uint64) {
	if word.Load()&m != 0 {
		body()
	}
}
