// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package otelgate_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// Processes that share a key carry overrides to each other, and read none from others. A program with a
// controller passes its Admit instead of admit.
func ExampleNewPropagator() {
	admit := func(name spangate.OverrideName) *spangate.Override {
		mask, _ := spangate.Gym.Resolve(name.Spec)
		return spangate.NewOverride(name, func(_ *spangate.Gate, m spangate.Mask) bool { return m.HasAny(mask) })
	}
	key := []byte("thirty-two random bytes, or more") // from a secret store
	base := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	propagator, err := otelgate.NewPropagator(base, admit, otelgate.Keys(key))
	if err != nil {
		fmt.Println(err)
		return
	}
	otel.SetTextMapPropagator(propagator)

	// In one process:
	name := spangate.OverrideName{Spec: "sandbox", ID: "x1", End: time.Now().Add(time.Minute)}
	ctx := spangate.ContextWithOverride(context.Background(), admit(name))
	request := http.Header{}
	propagator.Inject(ctx, propagation.HeaderCarrier(request))

	// In the next:
	var gate spangate.Gate
	gate.SetReach(spangate.PresetAll)
	ctx = propagator.Extract(context.Background(), propagation.HeaderCarrier(request))
	fmt.Println(gate.OnContext(ctx, spangate.BitSandbox), gate.OnContext(ctx, spangate.BitVerify))

	request.Set("Baggage", "spangate=1.x1.1767225600..all") // not signed
	ctx = propagator.Extract(context.Background(), propagation.HeaderCarrier(request))
	fmt.Println(gate.OnContext(ctx, spangate.BitSandbox))
	// Output:
	// true false
	// false
}
