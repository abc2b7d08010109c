// SPDX-License-Identifier: Apache-2.0

// Package copied copies a gate, which go vet must report.
package copied

import "github.com/spangate/spangate"

func Copy(g *spangate.Gate) bool {
	c := *g
	return c.On(1)
}
