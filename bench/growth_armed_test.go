// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"testing"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: one site, as in BenchmarkCheck and with its caveats, while 0 to 63 other groups
// of its gate are on. It is one loop throughout, so any growth is the machine's.
func BenchmarkGrowthArmed(b *testing.B) {
	const site = spangate.Mask(1) << 63
	loop := func(n int) {
		for range n {
			if gate.On(site) {
				passed++
			}
		}
	}
	for _, others := range []int{0, 1, 2, 4, 8, 16, 32, 63} {
		b.Run(fmt.Sprintf("%d others on", others), func(b *testing.B) {
			gate.Store(spangate.Mask(1)<<others - 1)
			timed(b, loop)
		})
	}
}
