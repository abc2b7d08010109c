// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: the spec "default,sandbox" turned into a set, again and again, names and tables
// in cache. Split-and-map is what one writes in Go in ten lines: it folds and trims as Go
// does, knows no exclusion, finds no more than the first unknown name and gives no offset.
// The row Python/resolve of the same report does the work of nemo-lens's resolve, written for this
// comparison (python/nemo_lens_shaped.py) and timed by its own interpreter.
//
// Not measured: the error path, which is for people to read and takes its time.
//
// What the compiler might have removed: nothing; the calls are not inlined, and for b.Loop
// keeps what they return alive.
func BenchmarkParse(b *testing.B) {
	const spec = "default,sandbox"
	const want = spangate.PresetDefault | spangate.BitSandbox
	b.Run("spangate.Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if m, err := spangate.Parse(spec); err != nil || m != want {
				b.Fatal(m, err)
			}
		}
	})
	b.Run("split and map in Go", func(b *testing.B) {
		byName := make(map[string]uint64)
		for g := range spangate.Gym.Groups() {
			byName[g.Name] = uint64(g.Bit)
		}
		for p := range spangate.Gym.Presets() {
			byName[p.Name] = uint64(p.Mask)
		}
		b.ReportAllocs()
		for b.Loop() {
			if m, err := splitAndMap(byName, spec); err != nil || m != uint64(want) {
				b.Fatal(m, err)
			}
		}
	})
}

func splitAndMap(byName map[string]uint64, spec string) (uint64, error) {
	var m uint64
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
