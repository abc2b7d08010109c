// SPDX-License-Identifier: Apache-2.0

// The groups of its one site are not known.
package main

import "github.com/spangate/spangate"

var spans = spangate.MustCatalog("computed", []spangate.Group{{Name: "a", Bit: 1}, {Name: "b", Bit: 2}}, nil)

func main() {
	var gate spangate.Gate
	for g := range spans.Groups() {
		if gate.On(g.Bit) {
			println(g.Name)
		}
	}
}
