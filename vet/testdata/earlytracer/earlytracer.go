// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate/otelgate"

	"example.com/app/earlytracer/setup"
)

var tracer = otel.Tracer("example.com/app/earlytracer")

func twice(base trace.TracerProvider, gated *otelgate.TracerProvider) {
	otel.SetTracerProvider(base)
	otel.SetTracerProvider(gated) // want `this is the second global provider, and tracers in package variables \(example.com/app/earlytracer.tracer\) stay with the first`
}

func throughFunction(base trace.TracerProvider, gated *otelgate.TracerProvider) error {
	if err := setup.Telemetry(base); err != nil {
		return err
	}
	otel.SetTracerProvider(gated) // want `this is the second global provider`
	return nil
}

func between(base trace.TracerProvider, gated *otelgate.TracerProvider) trace.Tracer {
	otel.SetTracerProvider(base)
	t := otel.Tracer("example.com/app/between")
	otel.SetTracerProvider(gated) // want `a tracer is fetched between two providers`
	return t
}

func once(gated *otelgate.TracerProvider) trace.Tracer {
	t := otel.Tracer("example.com/app/once")
	otel.SetTracerProvider(gated)
	return t
}

func either(base trace.TracerProvider, gated *otelgate.TracerProvider) {
	if gated == nil {
		otel.SetTracerProvider(base)
		return
	}
	otel.SetTracerProvider(gated)
}

func atTheEnd(gated *otelgate.TracerProvider) {
	otel.SetTracerProvider(gated)
	otel.SetTracerProvider(noop.NewTracerProvider())
}

func restored(gated *otelgate.TracerProvider) {
	old := otel.GetTracerProvider()
	otel.SetTracerProvider(gated)
	otel.SetTracerProvider(old)
}

func unknown(base trace.TracerProvider, gated *otelgate.TracerProvider) {
	setup.Perhaps(base)
	otel.SetTracerProvider(gated)
}

func main() {}

func fallback(base, other trace.TracerProvider) {
	err := setup.Telemetry(base)
	if err != nil {
		otel.SetTracerProvider(other)
	}
}

func perhaps(base trace.TracerProvider) {
	if base == nil {
		return
	}
	otel.SetTracerProvider(base)
}

func ofThisPackage(base, other trace.TracerProvider) {
	perhaps(base)
	otel.SetTracerProvider(other)
}
