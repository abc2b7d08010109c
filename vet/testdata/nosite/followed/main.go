// SPDX-License-Identifier: Apache-2.0

// A program with a site that can't be followed.
package main

import "github.com/spangate/spangate"

const bitQuery spangate.Mask = 1

var spans = spangate.MustCatalog("followed", []spangate.Group{{Name: "query", Bit: bitQuery}}, nil)

var gate spangate.Gate

type asker interface{ On(spangate.Mask) bool }

func main() {
	var a asker = &gate
	_ = a.On(bitQuery)
}
