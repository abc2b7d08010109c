// SPDX-License-Identifier: Apache-2.0

// Package names has a catalog that no other package can name.
package names

import "github.com/spangate/spangate"

const (
	bitUsed    spangate.Mask = 1 << 0
	bitUnused  spangate.Mask = 1 << 1
	bitByValue spangate.Mask = 1 << 2
)

var spans = spangate.MustCatalog("names", []spangate.Group{ // want `no site of this program is gated on group "unused" of catalog names, and preset default has it`
	{Name: "used", Bit: bitUsed},
	{Name: "unused", Bit: bitUnused},
	{Name: "by_value", Bit: bitByValue},
}, []spangate.Preset{{Name: "default", Mask: bitUsed | bitUnused}})

var gate spangate.Gate

func Work() bool {
	gate.Store(spans.All()) // no site
	return gate.On(bitUsed) || gate.On(1<<2)
}
