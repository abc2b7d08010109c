// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"testing"

	"github.com/spangate/spangate"
)

// Bias: these run one operation in a tight loop on one goroutine, so the gate's word and the
// catalog stay in the nearest cache and every branch is predicted. A site in a program costs
// more than BenchmarkOn when its cache line was evicted or written by another core. The
// instructions of a site are exact; TestSiteCompilesToALoadATestAndABranch pins them.

var benchGate spangate.Gate

func BenchmarkOn(b *testing.B) {
	b.ReportAllocs()
	started := 0
	for b.Loop() {
		if benchGate.On(spangate.BitRollout) {
			started++
		}
	}
	if started != 0 {
		b.Fatal("the gate is on")
	}
}

func BenchmarkStore(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		benchGate.Store(spangate.BitJob)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, spec := range []string{"default,sandbox", "all,-sandbox", " Default , SANDBOX "} {
		b.Run(spec, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink, _ = spangate.Parse(spec)
			}
		})
	}
}
