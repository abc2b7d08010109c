// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// Bias of all benchmarks of growth: that of BenchmarkCheck, whose loop they use, with one site that
// is off. All rows of a benchmark run the same loop, so a difference in time is noise.

// BenchmarkGrowthEnabled has 0 to 63 other groups of the site's gate on.
func BenchmarkGrowthEnabled(b *testing.B) {
	const site = spangate.Mask(1) << 63
	for _, others := range []int{0, 1, 2, 4, 8, 16, 32, 63} {
		b.Run(fmt.Sprintf("%d others on", others), func(b *testing.B) {
			rest := spangate.Mask(1)<<others - 1
			offSite(b, func(on bool) { gate.Store(either(on, rest|site, rest)) }, func(n int) {
				for range n {
					if gate.On(site) {
						started++
					}
				}
			})
		})
	}
}

// BenchmarkGrowthRegistered has the site's gate in a registry of 1 to 1,000 groups, all on but the
// site's.
func BenchmarkGrowthRegistered(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%d registered", n), func(b *testing.B) {
			r, g := registered(b, n)
			offSite(b, func(on bool) { r.SetSpec(either(on, "all", "all,-g0")) }, func(n int) {
				for range n {
					if g.On(1) {
						started++
					}
				}
			})
		})
	}
}

// BenchmarkGrowthSetSpec sets a registry's spec, once for all sites. Two specs take turns, since
// setting the same one again could be a special case. With one group registered
// the second turns nothing on.
func BenchmarkGrowthSetSpec(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%d registered", n), func(b *testing.B) {
			r, g := registered(b, n)
			measure(b, func(n int) {
				for i := range n {
					r.SetSpec(either(i&1 == 0, "all", "all,-g0"))
				}
			})
			if g.On(1) != (b.N&1 == 1) {
				b.Fatalf("after %d changes the first group is on: %t", b.N, g.On(1))
			}
		})
	}
}

// registered returns a registry of n groups, g0 to the last, in catalogs of up to 50, and the gate
// whose lowest bit is g0.
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

// BenchmarkGrowthLeased has a controller over the site's gate watch a file and hold 0 to 10,000
// leases of another group. The benchmarks of package control measure changes with that many.
func BenchmarkGrowthLeased(b *testing.B) {
	for _, n := range []int{0, 1, 100, 10000} {
		c, g := leased(b, n) // once, not for each number of turns
		b.Run(fmt.Sprintf("leases: %d", n), func(b *testing.B) {
			offSite(b, func(on bool) {
				if err := c.SetBaseline(control.Baseline{Spec: either(on, "server,rollout", "server")}); err != nil {
					b.Fatal(err)
				}
			}, func(n int) {
				for range n {
					if g.On(spangate.BitRollout) {
						started++
					}
				}
			})
		})
	}
}

// leased returns a controller over Gym that watches a file and holds n leases of sandbox, and Gym's
// gate.
func leased(b *testing.B, n int) (*control.Controller, *spangate.Gate) {
	b.Helper()
	quiet := slog.New(slog.DiscardHandler)
	r, g := registry.New(registry.Logger(quiet)), new(spangate.Gate)
	if err := r.Register(spangate.Gym, g); err != nil {
		b.Fatal(err)
	}
	c, err := control.New(r, control.Logger(quiet))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	if _, err := c.WatchFile(filepath.Join(b.TempDir(), "spec")); err != nil {
		b.Fatal(err)
	}
	for range n {
		if _, err := c.Lease(control.LeaseRequest{Owner: "bench", Spec: "sandbox", TTL: time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	return c, g
}

// BenchmarkGrowthGoroutines has 1 to GOMAXPROCS goroutines read the gate, each b.N times, so the
// time is that of one check on each: it stays the same if readers do not slow each other. Where
// other programs need the processors too, it grows for that reason.
func BenchmarkGrowthGoroutines(b *testing.B) {
	for n := 1; n <= runtime.GOMAXPROCS(0); n *= 2 {
		b.Run(fmt.Sprintf("read by %d", n), func(b *testing.B) {
			gate.Store(spangate.PresetAll &^ spangate.BitRollout)
			measureOff(b, func(checks int) { read(n, checks) })
		})
	}
}

// read has each of n goroutines check the site, which is off, so many times.
func read(n, checks int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range checks {
				if gate.On(spangate.BitRollout) {
					started++ // a data race only if the site is on, which is an error
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkGrowthGoroutinesSpan has 1 to GOMAXPROCS goroutines start and end spans of one site,
// each b.N of them. The gate counts every span. If goroutines waited for each other to count, the
// rows through the gate would grow more with the number of goroutines than those of the SDK alone.
// Those grow too, by the work of the memory allocator and the garbage collector.
func BenchmarkGrowthGoroutinesSpan(b *testing.B) {
	for n := 1; n <= runtime.GOMAXPROCS(0); n *= 2 {
		b.Run(fmt.Sprintf("SDK, started by %d", n), func(b *testing.B) { startTogether(b, n, recording()) })
		b.Run(fmt.Sprintf("through the gate, started by %d", n), func(b *testing.B) {
			gate.Store(spangate.PresetAll)
			startTogether(b, n, gatedTracer())
		})
	}
}

func startTogether(b *testing.B, n int, t trace.Tracer) {
	measureWarm(b, func(spans int) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for range spans {
					_, span := t.Start(context.Background(), "site")
					span.End()
				}
			})
		}
		wg.Wait()
	})
}

// BenchmarkGrowthToggling has all processors but one read the gate while a goroutine swaps the
// other groups at the rate of the row. Each swap takes the cache line from every reader once.
//
// The goroutine sleeps between swaps up to 10 kHz and spins above, so the last rows keep one
// processor busy. No program changes its set that often; they show where it would begin to cost.
// swaps/s is the rate that was reached.
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
			measureOff(b, func(checks int) { read(max(1, runtime.GOMAXPROCS(0)-1), checks) })
			b.StopTimer()
			if swaps := stop(); b.Elapsed() > time.Millisecond {
				b.ReportMetric(float64(swaps)/b.Elapsed().Seconds(), "swaps/s")
			}
		})
	}
}

// toggle swaps the gate's set hz times a second until stop is called, which returns how often it
// did.
func toggle(hz int) (stop func() (swaps int)) {
	if hz == 0 {
		return func() int { return 0 }
	}
	const all = spangate.PresetAll &^ spangate.BitRollout
	period := time.Second / time.Duration(hz)
	var done atomic.Bool
	swaps := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for next := time.Now(); !done.Load(); {
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
		done.Store(true)
		wg.Wait()
		return swaps
	}
}

// BenchmarkGrowthNeighbour shows what the gate's padding is for: a goroutine writes, as fast as it
// can, to the variable that follows the gate in memory, or to one in the padding, on the word's
// cache line. It needs a processor of its own: if other programs take that, the times vary.
//
// Not measured: what the padding costs, which is memory and, on arm64, an ADD to reach the word of
// a gate behind a pointer.
func BenchmarkGrowthNeighbour(b *testing.B) {
	v := new(struct {
		gate  spangate.Gate
		after atomic.Uint64
	})
	for _, row := range []struct {
		name string
		hot  *atomic.Uint64
	}{
		{"no writes nearby", nil},
		{"hot neighbour, kept away by the padding", &v.after},
		{"hot neighbour, as without padding", inPadding(&v.gate)},
	} {
		b.Run(row.name, func(b *testing.B) {
			defer keepWriting(row.hot)()
			offSite(b, func(on bool) { v.gate.Store(either(on, spangate.BitRollout, 0)) }, func(n int) {
				for range n {
					if v.gate.On(spangate.BitRollout) {
						started++
					}
				}
			})
		})
	}
}

// inPadding returns a variable in the padding of g that is on the word's cache line.
func inPadding(g *spangate.Gate) *atomic.Uint64 {
	const word = (unsafe.Sizeof(*g) - 8) / 2 // the padding is the same on both sides
	if (uintptr(unsafe.Pointer(g))+word)%64 < 8 {
		return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(g), word+8))
	}
	return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(g), word-8))
}

// keepWriting writes to word, if it is not nil, until stop is called.
func keepWriting(word *atomic.Uint64) (stop func()) {
	if word == nil {
		return func() {}
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	began := make(chan struct{})
	wg.Go(func() {
		close(began)
		for !done.Load() {
			word.Add(1)
		}
	})
	<-began
	return func() {
		done.Store(true)
		wg.Wait()
	}
}
