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
// of its gate are on. With all 64 on the site is on as well, and what is timed is the branch
// into it. It is one instruction sequence throughout, so any growth is the machine's.
func BenchmarkGrowthArmed(b *testing.B) {
	const site = spangate.Mask(1) << 63
	for _, armed := range []int{0, 1, 2, 4, 8, 16, 32, 63, 64} {
		b.Run(fmt.Sprintf("%d on", armed), func(b *testing.B) {
			m := spangate.Mask(1)<<armed - 1
			gate.Store(m)
			passed = 0
			for range b.N {
				if gate.On(site) {
					passed++
				}
			}
			if want := b.N * (armed / 64); passed != want {
				b.Fatalf("%d of %d checks said on, want %d", passed, b.N, want)
			}
		})
	}
}
