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
// Measured: the spec "default,sandbox" turned into a set again and again, with names and tables in
// cache. Split and map is the ten lines of Go that a program would have instead: it folds and trims as Go does, has no
// exclusions, and reports only the first unknown name, without an offset. The row Python/resolve
// does the work of nemo-lens's resolve; python/nemo_lens_shaped.py was written for this comparison.
//
// Not measured: the error path.
func BenchmarkParse(b *testing.B) {
	const spec, mask = "default,sandbox", spangate.PresetDefault | spangate.BitSandbox
	b.Run("spangate.Parse", func(b *testing.B) { parse(b, spec, mask) })
	b.Run("split and map in Go", func(b *testing.B) {
		byName := make(map[string]spangate.Mask)
		for g := range spangate.Gym.Groups() {
			byName[g.Name] = g.Bit
		}
		for p := range spangate.Gym.Presets() {
			byName[p.Name] = p.Mask
		}
		measure(b, func(n int) {
			for range n {
				if m, err := splitAndMap(byName, spec); err != nil || m != mask {
					b.Fatal(m, err)
				}
			}
		})
	})
}

func parse(b *testing.B, spec string, mask spangate.Mask) {
	measure(b, func(n int) {
		for range n {
			if m, err := spangate.Parse(spec); err != nil || m != mask {
				b.Fatal(m, err)
			}
		}
	})
}

func splitAndMap(byName map[string]spangate.Mask, spec string) (m spangate.Mask, err error) {
	for _, name := range strings.Split(spec, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" {
			continue
		}
		mask, ok := byName[name]
		if !ok {
			return 0, fmt.Errorf("unknown name %q", name)
		}
		m |= mask
	}
	return m, nil
}

// BenchmarkGrowthSpec is BenchmarkParse for specs of more entries, which name Gym's groups in turn.
func BenchmarkGrowthSpec(b *testing.B) {
	groups := slices.Collect(spangate.Gym.Groups())
	for _, entries := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("entries: %d", entries), func(b *testing.B) {
			var names []string
			var mask spangate.Mask
			for i := range entries {
				g := groups[i%len(groups)]
				names = append(names, g.Name)
				mask |= g.Bit
			}
			parse(b, strings.Join(names, ","), mask)
		})
	}
}
