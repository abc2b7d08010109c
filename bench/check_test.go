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
// Measured: a site that is off, in a loop "if on { started++ }": the check, a branch that is always
// predicted right, and the loop itself, which the row "an empty loop" has alone. Everything is in the nearest
// cache. Neighbouring turns overlap in the processor, so the time is that of one more site in a busy
// program, not the latency of a single check.
//
// Not measured: a cold cache or branch predictor, and the code that a site adds around the check.
// Below 1 ns the position of a loop in memory makes more difference than its instructions: compare
// those.
//
// The compiler could remove a check whose result it knows or nothing uses. So each switch is
// turned on and off first, and started, a package-level variable, is compared with zero at the end
// (a local one is counted up without a branch). Atomic loads stay in the loop by definition. The
// load of the plain bool is not moved out of the loop by today's compiler; if it were, the row would
// have the empty loop's instructions.
//
// The alternatives do more than test one bit: they compare a level, look up a name, apply a rule.
func BenchmarkCheck(b *testing.B) {
	b.Run("an empty loop", func(b *testing.B) {
		measure(b, func(n int) {
			for range n {
			}
		})
	})

	b.Run("load and AND by hand", func(b *testing.B) {
		offSite(b, func(on bool) { handWord.Store(enabledWord(on)) }, func(n int) {
			for range n {
				if handWord.Load()&bit != 0 {
					started++
				}
			}
		})
	})

	b.Run("spangate: constant bit, package-level gate", func(b *testing.B) {
		offSite(b, func(on bool) { gate.Store(spangate.Mask(enabledWord(on))) }, func(n int) {
			for range n {
				if gate.On(spangate.BitRollout) {
					started++
				}
			}
		})
	})

	b.Run("spangate: constant bit, gate behind a pointer", func(b *testing.B) {
		g := pointer
		offSite(b, func(on bool) { g.Store(spangate.Mask(enabledWord(on))) }, func(n int) {
			for range n {
				if g.On(spangate.BitRollout) {
					started++
				}
			}
		})
	})

	b.Run("spangate: variable mask, package-level gate", func(b *testing.B) {
		m := spangate.MustParse("rollout")
		offSite(b, func(on bool) { gate.Store(spangate.Mask(enabledWord(on))) }, func(n int) {
			for range n {
				if gate.On(m) {
					started++
				}
			}
		})
	})

	b.Run("a plain bool, not safe to change", func(b *testing.B) {
		offSite(b, func(on bool) { plain = on }, func(n int) {
			for range n {
				if plain {
					started++
				}
			}
		})
	})

	b.Run("map set behind an atomic pointer", func(b *testing.B) {
		var set atomic.Pointer[map[string]struct{}]
		offSite(b, func(on bool) { set.Store(enabledNames(on)) }, func(n int) {
			for range n {
				if _, ok := (*set.Load())["rollout"]; ok {
					started++
				}
			}
		})
	})

	b.Run("sync.Map", func(b *testing.B) {
		var set sync.Map
		offSite(b, func(on bool) {
			set.Clear()
			for name := range *enabledNames(on) {
				set.Store(name, struct{}{})
			}
		}, func(n int) {
			for range n {
				if _, ok := set.Load("rollout"); ok {
					started++
				}
			}
		})
	})

	b.Run("bitset behind an atomic pointer", func(b *testing.B) {
		var set atomic.Pointer[bitset.BitSet]
		offSite(b, func(on bool) { set.Store(bitset.From([]uint64{enabledWord(on)})) }, func(n int) {
			for range n {
				if set.Load().Test(position) {
					started++
				}
			}
		})
	})

	b.Run("zap AtomicLevel.Enabled", func(b *testing.B) {
		level := zap.NewAtomicLevel()
		offSite(b, func(on bool) { level.SetLevel(either(on, zap.DebugLevel, zap.InfoLevel)) }, func(n int) {
			for range n {
				if level.Enabled(zap.DebugLevel) {
					started++
				}
			}
		})
	})

	b.Run("slog LevelVar", func(b *testing.B) {
		var level slog.LevelVar
		offSite(b, func(on bool) { level.Set(either(on, slog.LevelDebug, slog.LevelInfo)) }, func(n int) {
			for range n {
				if slog.LevelDebug >= level.Level() {
					started++
				}
			}
		})
	})

	b.Run("slog Logger.Enabled", func(b *testing.B) {
		ctx := context.Background()
		var level slog.LevelVar
		log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: &level}))
		offSite(b, func(on bool) { level.Set(either(on, slog.LevelDebug, slog.LevelInfo)) }, func(n int) {
			for range n {
				if log.Enabled(ctx, slog.LevelDebug) {
					started++
				}
			}
		})
	})

	b.Run("klog V", func(b *testing.B) {
		offSite(b, func(on bool) {
			var level klog.Level // Set sets the verbosity of the process
			if err := level.Set(either(on, "1", "0")); err != nil {
				b.Fatal(err)
			}
		}, func(n int) {
			for range n {
				if klog.V(1).Enabled() {
					started++
				}
			}
		})
	})

	b.Run("logr V, discarding", func(b *testing.B) {
		log := logr.Discard() // can't be turned on
		measureOff(b, func(n int) {
			for range n {
				if log.V(1).Enabled() {
					started++
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
					started++
				}
			}
		})
	})

	b.Run("OpenFeature, in-memory provider", func(b *testing.B) {
		ctx := context.Background()
		flag := func(on bool) map[string]memprovider.InMemoryFlag {
			return map[string]memprovider.InMemoryFlag{"rollout": {
				Key: "rollout", State: memprovider.Enabled, DefaultVariant: either(on, "on", "off"),
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
					started++
				}
			}
		})
	})
}

// BenchmarkStore measures a change of the set, with the bias of BenchmarkCheck. A program changes
// its set a few times an hour.
func BenchmarkStore(b *testing.B) {
	b.Run("spangate: Gate.Store", func(b *testing.B) {
		measure(b, func(n int) {
			for i := range n {
				gate.Store(spangate.Mask(i))
			}
		})
	})
	b.Run("atomic store by hand", func(b *testing.B) {
		measure(b, func(n int) {
			for i := range n {
				handWord.Store(uint64(i))
			}
		})
	})
}

const (
	position = 10
	bit      = uint64(1) << position // spangate.BitRollout
)

// Switches of the kinds that programs declare at package level.
var (
	gate     spangate.Gate
	pointer  = spangate.NewGate(0) // in a function the gate itself would be on the stack
	handWord atomic.Uint64
	plain    bool
)

// enabledWord returns all of Gym's groups, rollout only if it is on: enough groups that a map of
// them has more than one bucket.
func enabledWord(rollout bool) uint64 {
	return uint64(either(rollout, spangate.PresetAll, spangate.PresetAll&^spangate.BitRollout))
}

// enabledNames is enabledWord as a set of names.
func enabledNames(rollout bool) *map[string]struct{} {
	set := make(map[string]struct{})
	for g := range spangate.Gym.Groups() {
		if g.Name != "rollout" || rollout {
			set[g.Name] = struct{}{}
		}
	}
	return &set
}

func either[T any](on bool, ifOn, ifOff T) T {
	if on {
		return ifOn
	}
	return ifOff
}

// started counts the spans that sites would have started.
var started int

// offSite measures loop, which goes through one site, after set has turned the site off. It fails
// unless the site follows set.
func offSite(b *testing.B, set func(on bool), loop func(n int)) {
	b.Helper()
	for _, on := range []bool{false, true, false} {
		set(on)
		started = 0
		loop(1)
		if (started == 1) != on {
			b.Fatalf("the site set to %t started %d spans", on, started)
		}
	}
	measureOff(b, loop)
}

// measureOff measures loop, and fails if a site in it starts a span.
func measureOff(b *testing.B, loop func(n int)) {
	b.Helper()
	started = 0
	measure(b, loop)
	if started != 0 {
		b.Fatalf("%d checks found the site on; it is off", started)
	}
}
