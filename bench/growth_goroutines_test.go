// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: one gate read by 1 to N goroutines at once, N being the number of processors.
// Each of them does b.N checks, so the time is that of one check on each: flat means that
// readers do not slow each other. Where other programs want the processors too, many
// goroutines wait for theirs, and the row grows without the gate's doing.
//
// What the compiler might have removed: see BenchmarkCheck.
func BenchmarkGrowthGoroutines(b *testing.B) {
	for n := 1; n <= runtime.GOMAXPROCS(0); n *= 2 {
		b.Run(fmt.Sprintf("read by %d", n), func(b *testing.B) {
			gate.Store(spangate.PresetAll &^ spangate.BitRollout)
			timed(b, func(checks int) { readers(n, checks) })
		})
	}
}

// readers has n goroutines do checks checks each.
func readers(n, checks int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range checks {
				if gate.On(spangate.BitRollout) {
					passed++ // a data race, if the site that is off were on
				}
			}
		})
	}
	wg.Wait()
}
