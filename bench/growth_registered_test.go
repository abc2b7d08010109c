// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

// Bias.
//
// Measured: one site, as in BenchmarkCheck and with its caveats, while its gate is one of
// many in a registry that holds 1 to 1,000 groups, all on but the site's. A registered gate
// is read like any other, so any growth is the machine's.
//
// BenchmarkGrowthSetSpec is what grows instead: the operator's change of the spec, whose
// work is done once for all sites.
//
// What the compiler might have removed: see BenchmarkCheck.
func BenchmarkGrowthRegistered(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%d registered", n), func(b *testing.B) {
			r, g := registered(b, n)
			offSite(b, func(on bool) {
				if on {
					r.SetSpec("all")
				} else {
					r.SetSpec("all,-g0")
				}
			}, func(n int) {
				for range n {
					if g.On(1) {
						passed++
					}
				}
			})
		})
	}
}

// BenchmarkGrowthSetSpec has the bias of BenchmarkGrowthRegistered. Two specs take turns,
// since one that is there already could be recognised. With one group registered, the second
// turns nothing on, which the registry looks into and reports: that row is dearer than the next.
func BenchmarkGrowthSetSpec(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%d registered", n), func(b *testing.B) {
			r, g := registered(b, n)
			specs := [...]string{"all", "all,-g0"}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				r.SetSpec(specs[i&1])
				i++
			}
			if want := i&1 == 1; g.On(1) != want {
				b.Fatalf("after %q the first group is on: %t", specs[(i-1)&1], !want)
			}
		})
	}
}

// registered returns a registry of n groups, g0 to the last, in catalogs of up to 50, and the
// gate whose lowest bit is g0.
func registered(b *testing.B, n int) (*registry.Registry, *spangate.Gate) {
	b.Helper()
	r := registry.New(registry.Logger(slog.New(slog.DiscardHandler)))
	var first *spangate.Gate
	for from := 0; from < n; from += 50 {
		var groups []spangate.Group
		for i := from; i < min(n, from+50); i++ {
			groups = append(groups, spangate.Group{Name: fmt.Sprintf("g%d", i), Bit: 1 << (i - from)})
		}
		g := new(spangate.Gate)
		if err := r.Register(spangate.MustCatalog(fmt.Sprintf("lib%d", from), groups, nil), g); err != nil {
			b.Fatal(err)
		}
		if first == nil {
			first = g
		}
	}
	return r, first
}
