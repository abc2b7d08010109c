// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"io"
	"log/slog"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/go-logr/logr"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
	"go.uber.org/zap"
	"k8s.io/klog/v2"

	"github.com/spangate/spangate"
)

// Bias.
//
// Measured: a site that is off, as a loop around "if on { passed++ }": the check, a branch
// that is always predicted right, and the loop, which "an empty loop" shows by itself.
// Everything is in the nearest cache. Neighbouring iterations overlap in the processor, so
// this is throughput: how much a busy program loses to one more site, not how long a site
// takes when nothing else is to be done.
//
// Not measured: a cold cache or branch predictor, and the code that a site adds around the
// check. Under 1 ns the numbers are a cycle or two, and where a loop lies in memory decides
// between them: two rows of the same instructions may differ by a factor of two. What such a
// check costs is for the disassembly (cmd/budgets) to say.
//
// What the compiler might have removed: a check whose answer it knows or that nobody uses.
// Every switch is flipped both ways first, so no answer is constant, and passed is compared
// with zero after the loop. It is a package-level variable: a local one the compiler counts up
// without a branch, which no real site lets it do. Loads that are atomic stay in the loop by
// definition. The one that is not, of the plain bool, Go's compiler does not move out of the
// loop today; were it to, the row would show the empty loop's time.
//
// The peers answer a richer question than one bit: a level, a name, a rule. They are here
// because they are what one would reach for, not because they do badly.
func BenchmarkCheck(b *testing.B) {
	b.Run("an empty loop", emptyLoop)

	b.Run("load and AND by hand", func(b *testing.B) {
		offSite(b, func(on bool) { handWord.Store(word(on)) }, func(n int) {
			for range n {
				if handWord.Load()&bit != 0 {
					passed++
				}
			}
		})
	})

	b.Run("spangate: constant bit, package-level gate", func(b *testing.B) {
		offSite(b, func(on bool) { gate.Store(spangate.Mask(word(on))) }, func(n int) {
			for range n {
				if gate.On(spangate.BitRollout) {
					passed++
				}
			}
		})
	})

	b.Run("spangate: constant bit, gate behind a pointer", func(b *testing.B) {
		g := pointer
		offSite(b, func(on bool) { g.Store(spangate.Mask(word(on))) }, func(n int) {
			for range n {
				if g.On(spangate.BitRollout) {
					passed++
				}
			}
		})
	})

	b.Run("spangate: variable mask, package-level gate", func(b *testing.B) {
		m := spangate.MustParse("rollout")
		offSite(b, func(on bool) { gate.Store(spangate.Mask(word(on))) }, func(n int) {
			for range n {
				if gate.On(m) {
					passed++
				}
			}
		})
	})

	b.Run("a plain bool, not safe to change", func(b *testing.B) {
		offSite(b, func(on bool) { plain = on }, func(n int) {
			for range n {
				if plain {
					passed++
				}
			}
		})
	})

	b.Run("map set behind an atomic pointer", func(b *testing.B) {
		var set atomic.Pointer[map[string]struct{}]
		offSite(b, func(on bool) { set.Store(names(on)) }, func(n int) {
			for range n {
				if _, ok := (*set.Load())["rollout"]; ok {
					passed++
				}
			}
		})
	})

	b.Run("sync.Map", func(b *testing.B) {
		var set sync.Map
		for name := range *names(false) {
			set.Store(name, struct{}{})
		}
		offSite(b, func(on bool) {
			if on {
				set.Store("rollout", struct{}{})
			} else {
				set.Delete("rollout")
			}
		}, func(n int) {
			for range n {
				if _, ok := set.Load("rollout"); ok {
					passed++
				}
			}
		})
	})

	b.Run("bitset behind an atomic pointer", func(b *testing.B) {
		var set atomic.Pointer[bitset.BitSet]
		offSite(b, func(on bool) { set.Store(bitset.From([]uint64{word(on)})) }, func(n int) {
			for range n {
				if set.Load().Test(position) {
					passed++
				}
			}
		})
	})

	b.Run("zap AtomicLevel.Enabled", func(b *testing.B) {
		level := zap.NewAtomicLevel()
		offSite(b, func(on bool) {
			if on {
				level.SetLevel(zap.DebugLevel)
			} else {
				level.SetLevel(zap.InfoLevel)
			}
		}, func(n int) {
			for range n {
				if level.Enabled(zap.DebugLevel) {
					passed++
				}
			}
		})
	})

	b.Run("slog LevelVar", func(b *testing.B) {
		var level slog.LevelVar
		offSite(b, func(on bool) { level.Set(slogLevel(on)) }, func(n int) {
			for range n {
				if slog.LevelDebug >= level.Level() {
					passed++
				}
			}
		})
	})

	b.Run("slog Logger.Enabled", func(b *testing.B) {
		ctx := context.Background()
		var level slog.LevelVar
		log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: &level}))
		offSite(b, func(on bool) { level.Set(slogLevel(on)) }, func(n int) {
			for range n {
				if log.Enabled(ctx, slog.LevelDebug) {
					passed++
				}
			}
		})
	})

	b.Run("klog V", func(b *testing.B) {
		// klog's verbosity is a flag of the process; no other benchmark reads it.
		offSite(b, func(on bool) {
			var level klog.Level
			verbosity := "0"
			if on {
				verbosity = "1"
			}
			if err := level.Set(verbosity); err != nil {
				b.Fatal(err)
			}
		}, func(n int) {
			for range n {
				if klog.V(1).Enabled() {
					passed++
				}
			}
		})
	})

	b.Run("logr V, discarding", func(b *testing.B) {
		log := logr.Discard() // has no switch to flip
		timed(b, func(n int) {
			for range n {
				if log.V(1).Enabled() {
					passed++
				}
			}
		})
	})

	b.Run("runtime/trace.IsEnabled", func(b *testing.B) {
		offSite(b, func(on bool) {
			if !on {
				trace.Stop()
			} else if err := trace.Start(io.Discard); err != nil {
				b.Fatal(err)
			}
		}, func(n int) {
			for range n {
				if trace.IsEnabled() {
					passed++
				}
			}
		})
	})

	b.Run("OpenFeature, in-memory provider", func(b *testing.B) {
		ctx := context.Background()
		flag := func(on bool) map[string]memprovider.InMemoryFlag {
			variant := "off"
			if on {
				variant = "on"
			}
			return map[string]memprovider.InMemoryFlag{"rollout": {
				Key: "rollout", State: memprovider.Enabled, DefaultVariant: variant,
				Variants: map[string]any{"on": true, "off": false},
			}}
		}
		provider := memprovider.NewInMemoryProvider(flag(false))
		if err := openfeature.SetProviderAndWait(provider); err != nil {
			b.Fatal(err)
		}
		defer openfeature.Shutdown()
		client := openfeature.NewDefaultClient()
		offSite(b, func(on bool) { provider.UpdateFlags(flag(on)) }, func(n int) {
			for range n {
				if client.Boolean(ctx, "rollout", false, openfeature.EvaluationContext{}) {
					passed++
				}
			}
		})
	})
}

const (
	position = 10
	bit      = uint64(1) << position
)

// All switches of a kind that programs declare at package level are declared so here.
var (
	gate     spangate.Gate
	pointer  = spangate.NewGate(0) // not in a function, whose stack would hold the gate itself
	handWord atomic.Uint64
	plain    bool
)

// word returns what is on beside rollout, and rollout itself if it is to be on: enough groups
// that the map sets have more than one bucket.
func word(rollout bool) uint64 {
	w := uint64(spangate.PresetAll &^ spangate.BitRollout)
	if rollout {
		w |= bit
	}
	return w
}

// names is word as a set of names.
func names(rollout bool) *map[string]struct{} {
	set := make(map[string]struct{})
	for g := range spangate.Gym.Groups() {
		if g.Name != "rollout" || rollout {
			set[g.Name] = struct{}{}
		}
	}
	return &set
}

func slogLevel(debug bool) slog.Level {
	if debug {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// passed counts how often a site was passed.
var passed int

// offSite times a loop around a site that set has turned off, and fails the benchmark unless
// the site follows set.
func offSite(b *testing.B, set func(on bool), loop func(n int)) {
	b.Helper()
	for _, on := range []bool{false, true, false} {
		set(on)
		passed = 0
		loop(1)
		if (passed == 1) != on {
			b.Fatalf("set to %t, the site was passed %d times", on, passed)
		}
	}
	timed(b, loop)
}

// timed times the loop, and fails the benchmark if a site was passed in it.
//
// The loop is a function of its own and this one is not inlined, so that it begins where the
// linker puts functions, on a multiple of 32 bytes. In the middle of a benchmark it begins
// anywhere, and one that crosses a boundary takes twice as long as one that does not.
//
//go:noinline
func timed(b *testing.B, loop func(n int)) {
	b.Helper()
	passed = 0
	b.ResetTimer()
	loop(b.N)
	if passed != 0 {
		b.Fatalf("%d of %d checks said on; the site is off", passed, b.N)
	}
}

func emptyLoop(b *testing.B) {
	timed(b, func(n int) {
		for range n {
		}
	})
}
