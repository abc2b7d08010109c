// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
)

// scope is the instrumentation scope of this program's own spans.
const scope = "github.com/spangate/spangate/examples/rollout"

// telemetry is what each process has of its own: a gate, what sets it, and the SDK behind it.
type telemetry struct {
	gate      *spangate.Gate
	control   *control.Controller
	provider  *otelgate.TracerProvider
	collector string     // the URL that spans are sent to
	failed    chan error // the first export that failed since the last flush
}

// startTelemetry installs a provider that sends the process's spans to the collector's URL.
func startTelemetry(ctx context.Context, process, collector string) (*telemetry, error) {
	gate, control, err := newGate()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector))
	if err != nil {
		return nil, err
	}
	sdk := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName(process))),
		sdktrace.WithIDGenerator(rolloutTraces{}),
		sdktrace.WithSpanProcessor(rolloutAttribute()),
		// Spans are counted at the end, so none may be dropped when the queue is full.
		sdktrace.WithBatcher(exporter, sdktrace.WithBlocking(), sdktrace.WithExportTimeout(callTimeout/2)),
	)
	provider, err := otelgate.NewTracerProvider(sdk, gate, otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient))
	if err != nil {
		return nil, err
	}
	t := &telemetry{gate: gate, control: control, provider: provider, collector: collector, failed: make(chan error, 1)}
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		select {
		case t.failed <- err:
		default:
		}
	}))
	return t, nil
}

// flush sends the spans that have ended, and reports what could not be sent.
func (t *telemetry) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout/2)
	defer cancel()
	err := t.provider.ForceFlush(ctx)
	select {
	case err = <-t.failed: // says more than that time ran out
	default:
	}
	if err != nil {
		return fmt.Errorf("spans did not reach %s: %w", t.collector, err)
	}
	return nil
}

// stop gives up the exporter. What matters has been flushed before, so it need not take long.
func (t *telemetry) stop() {
	t.control.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t.provider.Shutdown(ctx)
}
