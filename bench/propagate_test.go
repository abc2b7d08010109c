// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// Bias.
//
// Measured: Extract from the headers of a request, and Inject into those of the next, by OpenTelemetry's
// propagators for trace context and baggage alone, and through the one that carries overrides. The rows
// with an override are of a request that has a token; "hostile" is one that is refused.
//
// Not measured: what admits an override, which is the program's; reading the request.

var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

func overrides(b *testing.B, opts ...otelgate.PropagatorOption) *otelgate.Propagator {
	admit := func(name spangate.OverrideName) *spangate.Override { return spangate.NewOverride(name, nil) }
	p, err := otelgate.NewPropagator(w3c, admit, opts...)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

var signingKey = otelgate.Keys(bytes.Repeat([]byte("k"), 32))

func overrideContext() context.Context {
	name := spangate.OverrideName{Spec: "default,sandbox", ID: "0123456789abcdef", End: time.Now().Add(time.Hour)}
	return spangate.ContextWithOverride(context.Background(), spangate.NewOverride(name, nil))
}

func BenchmarkExtract(b *testing.B) {
	const program = "user=ann,tenant=42"
	signed := http.Header{}
	overrides(b, signingKey).Inject(overrideContext(), propagation.HeaderCarrier(signed))
	valid := signed.Get("Baggage")
	unsigned := "spangate=1.x." + strconv.FormatInt(time.Now().Unix()+3600, 10) + "..all"
	for _, requests := range []struct {
		name, baggage string
		admitted      bool
	}{
		{"no baggage", "", false},
		{"baggage", program, false},
		{"an override", program + "," + valid, true},
		{"hostile, unsigned", program + "," + unsigned, false},
		{"hostile, forged", program + "," + strings.Replace(valid, "default", "deflate", 1), false},
		{"hostile, malformed", program + ",spangate=%zz", false},
		{"hostile, twice", program + "," + valid + "," + valid, false},
	} {
		carrier := propagation.HeaderCarrier{"Traceparent": {"00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"}}
		if requests.baggage != "" {
			carrier["Baggage"] = []string{requests.baggage}
		}
		for _, row := range []struct {
			name string
			p    propagation.TextMapPropagator
			keys bool
		}{
			{"OpenTelemetry", w3c, false},
			{"overrides, nothing trusted", overrides(b), false},
			{"overrides, a key", overrides(b, signingKey), true},
		} {
			b.Run(row.name+", "+requests.name, func(b *testing.B) {
				ctx := context.Background()
				if o := spangate.OverrideFromContext(row.p.Extract(ctx, carrier)); (o != nil) != (row.keys && requests.admitted) {
					b.Fatal("the override is not what the row says")
				}
				measure(b, func(n int) {
					for range n {
						row.p.Extract(ctx, carrier)
					}
				})
			})
		}
	}
}

func BenchmarkInject(b *testing.B) {
	program, err := baggage.Parse("user=ann,tenant=42")
	if err != nil {
		b.Fatal(err)
	}
	received := http.Header{}
	overrides(b, signingKey).Inject(overrideContext(), propagation.HeaderCarrier(received))
	for _, row := range []struct {
		name string
		p    propagation.TextMapPropagator
		ctx  context.Context
	}{
		{"OpenTelemetry, no baggage", w3c, remoteParent()},
		{"overrides, no baggage", overrides(b, signingKey), remoteParent()},
		{"OpenTelemetry, baggage", w3c, baggage.ContextWithBaggage(remoteParent(), program)},
		{"overrides, baggage", overrides(b, signingKey), baggage.ContextWithBaggage(remoteParent(), program)},
		{"overrides, an override that began here", overrides(b, signingKey), baggage.ContextWithBaggage(overrideContext(), program)},
		{"overrides, an override that was received", overrides(b, signingKey), baggage.ContextWithBaggage(overrides(b, signingKey).Extract(context.Background(), propagation.HeaderCarrier(received)), program)},
	} {
		b.Run(row.name, func(b *testing.B) {
			header := http.Header{}
			row.p.Inject(row.ctx, propagation.HeaderCarrier(header))
			if strings.Contains(header.Get("Baggage"), "spangate") != (spangate.OverrideFromContext(row.ctx) != nil) {
				b.Fatal("the override is not what the row says")
			}
			measure(b, func(n int) {
				for range n {
					clear(header)
					row.p.Inject(row.ctx, propagation.HeaderCarrier(header))
				}
			})
		})
	}
}

// BenchmarkGrowthHostile has one goroutine serve requests without an override, from Extract to Inject with a
// span that is on, while another extracts hostile requests at the rate of the row: forged tokens, each with
// an ID of its own. Beyond the processor time that the hostile requests take, the others stay as they are.
func BenchmarkGrowthHostile(b *testing.B) {
	p := overrides(b, signingKey)
	end := strconv.FormatInt(time.Now().Unix()+3600, 10)
	in := propagation.HeaderCarrier{"Traceparent": {"00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"}, "Baggage": {"user=ann,tenant=42"}}
	for _, hz := range []int{0, 1000} {
		b.Run("hostile requests a second: "+strconv.Itoa(hz), func(b *testing.B) {
			gate.Store(spangate.PresetAll)
			tracer, out := gatedTracer(), http.Header{}
			stop := repeat(hz, func(i int) {
				token := "spangate=1." + strconv.Itoa(i) + "." + end + "." + strings.Repeat("x", 43) + ".all"
				if spangate.OverrideFromContext(p.Extract(context.Background(), propagation.HeaderCarrier{"Baggage": {token}})) != nil {
					panic("a forged token was admitted")
				}
			})
			measureWarm(b, func(n int) {
				for range n {
					ctx, span := tracer.Start(p.Extract(context.Background(), in), "site")
					clear(out)
					p.Inject(ctx, propagation.HeaderCarrier(out))
					span.End()
				}
			})
			b.StopTimer()
			if calls := stop(); b.Elapsed() > time.Millisecond {
				b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "hostile/s")
			}
		})
	}
}
