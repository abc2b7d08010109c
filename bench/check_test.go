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
// Measured: a site that is off, as a loop around "if on { hits++ }": the check, a branch that
// is always predicted right, and the loop, which "an empty loop" shows by itself. Everything
// is in the nearest cache. Neighbouring iterations overlap in the processor, so this is
// throughput: how much a busy program loses to one more site, not how long a site takes when
// nothing else is to be done.
//
// Not measured: a cold cache or branch predictor, and the code that a site adds around the
// check. Under 1 ns the numbers are a cycle or two, and where the linker happens to put a loop
// decides between them: an empty loop may come out slower than one with a check in it. What
// such a check costs is for the disassembly (cmd/budgets) to say.
//
// What the compiler might have removed: a check whose answer it knows or that nobody uses.
// Every switch is flipped both ways first, so no answer is constant, and hits is compared with
// zero after the loop. Loads that are atomic stay in the loop by definition. The one that is
// not, of the plain bool, Go's compiler does not move out of the loop today; were it to, the
// row would show the empty loop's time.
//
// The peers answer a richer question than one bit: a level, a name, a rule. They are here
// because they are what one would reach for, not because they do badly.
func BenchmarkCheck(b *testing.B) {
	b.Run("an empty loop", func(b *testing.B) {
		for range b.N {
		}
	})

	b.Run("load and AND by hand", func(b *testing.B) {
		flips(b, func(on bool) { handWord.Store(word(on)) }, func() bool { return handWord.Load()&bit != 0 })
		hits := 0
		for range b.N {
			if handWord.Load()&bit != 0 {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("spangate: constant bit, package-level gate", func(b *testing.B) {
		flips(b, func(on bool) { gate.Store(spangate.Mask(word(on))) }, func() bool { return gate.On(spangate.BitRollout) })
		hits := 0
		for range b.N {
			if gate.On(spangate.BitRollout) {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("spangate: constant bit, gate behind a pointer", func(b *testing.B) {
		g := spangate.NewGate(0)
		flips(b, func(on bool) { g.Store(spangate.Mask(word(on))) }, func() bool { return g.On(spangate.BitRollout) })
		hits := 0
		for range b.N {
			if g.On(spangate.BitRollout) {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("spangate: variable mask, package-level gate", func(b *testing.B) {
		m := spangate.MustParse("rollout")
		flips(b, func(on bool) { gate.Store(spangate.Mask(word(on))) }, func() bool { return gate.On(m) })
		hits := 0
		for range b.N {
			if gate.On(m) {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("a plain bool, not safe to change", func(b *testing.B) {
		flips(b, func(on bool) { plain = on }, func() bool { return plain })
		hits := 0
		for range b.N {
			if plain {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("map set behind an atomic pointer", func(b *testing.B) {
		var set atomic.Pointer[map[string]struct{}]
		flips(b, func(on bool) { set.Store(names(on)) }, func() bool { _, ok := (*set.Load())["rollout"]; return ok })
		hits := 0
		for range b.N {
			if _, ok := (*set.Load())["rollout"]; ok {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("sync.Map", func(b *testing.B) {
		var set sync.Map
		for name := range *names(false) {
			set.Store(name, struct{}{})
		}
		flips(b, func(on bool) {
			if on {
				set.Store("rollout", struct{}{})
			} else {
				set.Delete("rollout")
			}
		}, func() bool { _, ok := set.Load("rollout"); return ok })
		hits := 0
		for range b.N {
			if _, ok := set.Load("rollout"); ok {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("bitset behind an atomic pointer", func(b *testing.B) {
		var set atomic.Pointer[bitset.BitSet]
		flips(b, func(on bool) { set.Store(bitset.From([]uint64{word(on)})) }, func() bool { return set.Load().Test(position) })
		hits := 0
		for range b.N {
			if set.Load().Test(position) {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("zap AtomicLevel.Enabled", func(b *testing.B) {
		level := zap.NewAtomicLevel()
		flips(b, func(on bool) {
			if on {
				level.SetLevel(zap.DebugLevel)
			} else {
				level.SetLevel(zap.InfoLevel)
			}
		}, func() bool { return level.Enabled(zap.DebugLevel) })
		hits := 0
		for range b.N {
			if level.Enabled(zap.DebugLevel) {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("slog LevelVar", func(b *testing.B) {
		var level slog.LevelVar
		flips(b, func(on bool) { level.Set(slogLevel(on)) }, func() bool { return slog.LevelDebug >= level.Level() })
		hits := 0
		for range b.N {
			if slog.LevelDebug >= level.Level() {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("slog Logger.Enabled", func(b *testing.B) {
		ctx := context.Background()
		var level slog.LevelVar
		log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: &level}))
		flips(b, func(on bool) { level.Set(slogLevel(on)) }, func() bool { return log.Enabled(ctx, slog.LevelDebug) })
		hits := 0
		for range b.N {
			if log.Enabled(ctx, slog.LevelDebug) {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("klog V", func(b *testing.B) {
		// klog's verbosity is a flag of the process; no other benchmark reads it.
		flips(b, func(on bool) {
			var level klog.Level
			verbosity := "0"
			if on {
				verbosity = "1"
			}
			if err := level.Set(verbosity); err != nil {
				b.Fatal(err)
			}
		}, func() bool { return klog.V(1).Enabled() })
		hits := 0
		for range b.N {
			if klog.V(1).Enabled() {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("logr V, discarding", func(b *testing.B) {
		log := logr.Discard() // has no switch to flip
		hits := 0
		for range b.N {
			if log.V(1).Enabled() {
				hits++
			}
		}
		stayedOff(b, hits)
	})

	b.Run("runtime/trace.IsEnabled", func(b *testing.B) {
		flips(b, func(on bool) {
			if !on {
				trace.Stop()
			} else if err := trace.Start(io.Discard); err != nil {
				b.Fatal(err)
			}
		}, trace.IsEnabled)
		hits := 0
		for range b.N {
			if trace.IsEnabled() {
				hits++
			}
		}
		stayedOff(b, hits)
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
		flips(b, func(on bool) { provider.UpdateFlags(flag(on)) },
			func() bool { return client.Boolean(ctx, "rollout", false, openfeature.EvaluationContext{}) })
		b.ResetTimer()
		hits := 0
		for range b.N {
			if client.Boolean(ctx, "rollout", false, openfeature.EvaluationContext{}) {
				hits++
			}
		}
		stayedOff(b, hits)
	})
}

const (
	position = 10
	bit      = uint64(1) << position
)

// All switches of a kind that programs declare at package level are declared so here.
var (
	gate     spangate.Gate
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

// flips fails the benchmark unless the check follows the switch, and leaves the switch off.
func flips(b *testing.B, set func(on bool), check func() bool) {
	b.Helper()
	for _, on := range []bool{false, true, false} {
		set(on)
		if check() != on {
			b.Fatalf("set to %t, the check says %t", on, !on)
		}
	}
	b.ResetTimer()
}

// stayedOff fails the benchmark if a site that is off was passed. It also uses hits, so that
// the loop that counted them can't be removed.
func stayedOff(b *testing.B, hits int) {
	b.Helper()
	if hits != 0 {
		b.Fatalf("%d of %d checks said on; the site is off", hits, b.N)
	}
}
