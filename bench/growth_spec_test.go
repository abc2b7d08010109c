// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: Parse of specs of 1 to 1,000 entries, which name Gym's groups in turn. The rows
// grow as the entries do, and the column that compares them with the first shows it; the
// fixed cost of a call makes the first one look dear.
//
// What the compiler might have removed: see BenchmarkParse.
func BenchmarkGrowthSpec(b *testing.B) {
	groups := slices.Collect(spangate.Gym.Groups())
	for _, entries := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("entries: %d", entries), func(b *testing.B) {
			var names []string
			var want spangate.Mask
			for i := range entries {
				g := groups[i%len(groups)]
				names = append(names, g.Name)
				want |= g.Bit
			}
			spec := strings.Join(names, ",")
			b.ReportAllocs()
			for b.Loop() {
				if m, err := spangate.Parse(spec); err != nil || m != want {
					b.Fatal(m, err)
				}
			}
		})
	}
}
