// SPDX-License-Identifier: Apache-2.0

// A program that asks its gate in each other way.
package main

import (
	"context"

	"github.com/spangate/spangate"
)

const (
	bitContext spangate.Mask = 1 << iota
	bitHas
	bitAnd
	bitWrapped
	bitBoth
	bitNone
)

var spans = spangate.MustCatalog("asked", []spangate.Group{ // want `no site of this program is gated on group "none" of catalog asked`
	{Name: "context", Bit: bitContext},
	{Name: "has", Bit: bitHas},
	{Name: "and", Bit: bitAnd},
	{Name: "wrapped", Bit: bitWrapped},
	{Name: "both", Bit: bitBoth},
	{Name: "none", Bit: bitNone},
}, nil)

var gate spangate.Gate

func both(m spangate.Mask) bool { return gate.On(m) && gate.On(bitBoth) }

func main() {
	_ = gate.OnContext(context.Background(), bitContext)
	_ = gate.Load().HasAny(bitHas)
	_ = gate.Load()&bitAnd != 0
	_ = both(bitWrapped)
}
