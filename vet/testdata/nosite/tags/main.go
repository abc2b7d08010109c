// SPDX-License-Identifier: Apache-2.0

// A program whose site has a build tag.
package main

import "github.com/spangate/spangate"

const bitDebug spangate.Mask = 1

var spans = spangate.MustCatalog("tags", []spangate.Group{{Name: "debug", Bit: bitDebug}}, nil)

var gate spangate.Gate

func main() {}
