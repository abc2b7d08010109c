// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// contextRow is a context for a site whose group is off for all, behind a gate on which overrides may
// turn on the groups of reach.
type contextRow struct {
	name    string
	reach   spangate.Mask
	context func() context.Context
}

var contextRows = []contextRow{
	{"no override allowed", 0, overridden},
	{"another group's allowed", spangate.BitSandbox, overridden},
	{"allowed, none in the context", spangate.BitRollout, noSpan},
	{"allowed, none in the context, ten values deep", spangate.BitRollout, func() context.Context { return tenDeep(noSpan()) }},
	{"allowed, one in the context that has not the group", spangate.BitRollout, overridden},
}

// overridden returns a context with an override that turns nothing on.
func overridden() context.Context {
	return spangate.ContextWithOverride(context.Background(), spangate.NewOverride(spangate.OverrideName{}, func(*spangate.Gate, spangate.Mask) bool { return false }))
}

func tenDeep(ctx context.Context) context.Context {
	for range 10 {
		ctx = context.WithValue(ctx, valueKey{}, 1)
	}
	return ctx
}

// BenchmarkOnContext has the bias of BenchmarkCheck.
func BenchmarkOnContext(b *testing.B) {
	b.Run("On", func(b *testing.B) {
		gate.Store(0)
		measureOff(b, func(n int) {
			for range n {
				if gate.On(spangate.BitRollout) {
					started++
				}
			}
		})
	})
	for _, row := range contextRows {
		b.Run(row.name, func(b *testing.B) {
			defer gate.SetReach(0)
			gate.SetReach(row.reach)
			ctx := row.context()
			offSite(b, func(on bool) { gate.Store(either(on, spangate.BitRollout, 0)) }, func(n int) {
				for range n {
					if gate.OnContext(ctx, spangate.BitRollout) {
						started++
					}
				}
			})
		})
	}
}

// BenchmarkGrowthGoroutinesContext has 1 to GOMAXPROCS goroutines call OnContext, as
// BenchmarkGrowthGoroutines does On.
func BenchmarkGrowthGoroutinesContext(b *testing.B) {
	for _, row := range []contextRow{contextRows[0], contextRows[4]} {
		for n := 1; n <= runtime.GOMAXPROCS(0); n *= 2 {
			b.Run(fmt.Sprintf("%s, read by %d", row.name, n), func(b *testing.B) {
				defer gate.SetReach(0)
				gate.SetReach(row.reach)
				gate.Store(0)
				ctx := row.context()
				measureOff(b, func(checks int) {
					var wg sync.WaitGroup
					for range n {
						wg.Go(func() {
							for range checks {
								if gate.OnContext(ctx, spangate.BitRollout) {
									started++ // a data race only if the site is on, which is an error
								}
							}
						})
					}
					wg.Wait()
				})
			})
		}
	}
}

// BenchmarkStartArmed measures the Start of a site that is off, as BenchmarkStartUnderSpan and
// BenchmarkStartNoParent do, while overrides may turn its group on and the trace has none. The
// function of Overrides returns nil.
func BenchmarkStartArmed(b *testing.B) {
	p, err := otelgate.NewTracerProvider(sdkProvider(sdkDefault), &gate, otelgate.Rule{Group: spangate.BitRollout},
		otelgate.Overrides(func(context.Context, trace.SpanContext) *spangate.Override { return nil }))
	if err != nil {
		b.Fatal(err)
	}
	t := p.Tracer("bench")
	gate.Store(spangate.BitRollout)
	under, _ := t.Start(context.Background(), "parent")
	gate.Store(0)
	for _, row := range []struct {
		name  string
		ctx   context.Context
		reach spangate.Mask
	}{
		{"no override allowed, no parent", context.Background(), 0},
		{"allowed, no parent", context.Background(), spangate.BitRollout},
		{"no override allowed, gated parent", under, 0},
		{"allowed, gated parent", under, spangate.BitRollout},
		{"allowed, ten values beneath a gated parent", tenDeep(under), spangate.BitRollout},
	} {
		b.Run(row.name, func(b *testing.B) {
			defer gate.SetReach(0)
			gate.Store(0)
			gate.SetReach(row.reach)
			if _, s := t.Start(row.ctx, "site"); s.IsRecording() {
				b.Fatal("the span records")
			}
			measureWarm(b, start(t, row.ctx))
		})
	}
}
