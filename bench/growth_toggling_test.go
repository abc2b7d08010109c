// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: a check by readers on all processors but one, as in BenchmarkGrowthGoroutines,
// while a goroutine swaps the gate's whole set, the site's own group left out, so often a
// second. Each swap takes the cache line away from every reader once.
//
// The toggler sleeps between swaps up to 10 kHz and spins above, so the last rows keep one
// processor busy; nobody changes what is traced 100,000 times a second, and the rows are
// there to show where it would begin to hurt. Sleeping is not exact: swaps/s is the rate that
// was reached.
//
// What the compiler might have removed: see BenchmarkCheck.
func BenchmarkGrowthToggling(b *testing.B) {
	for _, rate := range []struct {
		name string
		hz   int
	}{
		{"never swapped", 0},
		{"swapped at 1 kHz", 1e3},
		{"swapped at 10 kHz", 1e4},
		{"swapped at 100 kHz", 1e5},
		{"swapped at 1 MHz", 1e6},
	} {
		b.Run(rate.name, func(b *testing.B) {
			gate.Store(0)
			stop := toggle(rate.hz)
			timed(b, func(checks int) { readers(max(1, runtime.GOMAXPROCS(0)-1), checks) })
			b.StopTimer()
			if swaps := stop(); b.Elapsed() > time.Millisecond {
				b.ReportMetric(float64(swaps)/b.Elapsed().Seconds(), "swaps/s")
			}
		})
	}
}

// toggle swaps the gate's set hz times a second until stop is called, which returns how
// often it did.
func toggle(hz int) (stop func() (swaps int)) {
	if hz == 0 {
		return func() int { return 0 }
	}
	const all = spangate.PresetAll &^ spangate.BitRollout
	period := time.Second / time.Duration(hz)
	done := make(chan struct{})
	swaps := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		next := time.Now()
		for {
			select {
			case <-done:
				return
			default:
			}
			if rest := time.Until(next); rest > 50*time.Microsecond {
				time.Sleep(rest)
			} else if rest > 0 {
				continue
			}
			gate.Store(all * spangate.Mask(swaps&1))
			swaps++
			next = next.Add(period)
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		return swaps
	}
}
