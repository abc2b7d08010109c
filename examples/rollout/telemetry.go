// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/otelsdk"
	"github.com/spangate/spangate/otelsdk/gym"
	"github.com/spangate/spangate/registry"
)

// telemetry is what each process needs to trace, and to turn its spans on and off.
type telemetry struct {
	gate      *spangate.Gate
	provider  *otelgate.TracerProvider
	control   *control.Controller
	collector string                // the URL that spans are sent to; empty with --bare
	failed    atomic.Pointer[error] // of the last export that failed since the last flush
}

// startTelemetry sets up the gate of a process, the provider behind it, and the controller that
// sets it. At first the groups that the environment selects are on, or none.
func startTelemetry(ctx context.Context, role, collector string) (*telemetry, error) {
	t := &telemetry{gate: new(spangate.Gate), collector: collector}
	if err := t.startProvider(ctx, role); err != nil {
		return nil, err
	}
	// A program with several instrumented libraries registers the catalog and gate of each.
	groups := registry.New()
	if err := groups.Register(spangate.Gym, t.gate); err != nil {
		return nil, err
	}
	baseline, err := control.FromEnv()
	if err != nil {
		return nil, err
	}
	t.control, err = control.New(groups, control.StartupBaseline(baseline), control.Roots(t.provider.Roots))
	return t, err
}

// startProvider puts OpenTelemetry's SDK behind the gate and makes it the global provider, where
// otelhttp finds it.
func (t *telemetry) startProvider(ctx context.Context, role string) (err error) {
	rules := otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient)
	if t.bare() {
		t.provider, err = otelgate.NewTracerProvider(noop.NewTracerProvider(), t.gate, rules)
		return err
	}
	exporter, err := newExporter(ctx, t.collector)
	if err != nil {
		return err
	}
	sdk := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(gym.Resource(role)...)),
		sdktrace.WithIDGenerator(rolloutTraces{}),
		sdktrace.WithSpanProcessor(gym.RolloutIDs()),
		sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(
			// The driver counts the spans, so a full queue must block and not drop.
			sdktrace.NewBatchSpanProcessor(exporter, sdktrace.WithBlocking(), sdktrace.WithExportTimeout(callTimeout/2)))),
	)
	if t.provider, err = otelgate.NewTracerProvider(sdk, t.gate, rules); err != nil {
		return err
	}
	otel.SetTracerProvider(t.provider)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.failed.Store(&err) }))
	return nil
}

// newExporter returns an exporter for the protocol that the environment names, or else for http/protobuf.
func newExporter(ctx context.Context, url string) (sdktrace.SpanExporter, error) {
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol {
	case "grpc":
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(url))
	case "", "http/protobuf", "http/json": // otlptracehttp reads which of them
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url))
	default:
		return nil, fmt.Errorf("OTLP protocol %q: must be grpc, http/protobuf or http/json, in OTEL_EXPORTER_OTLP_TRACES_PROTOCOL or OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	}
}

// bare reports whether the process runs without instrumentation.
func (t *telemetry) bare() bool { return t.collector == "" }

// flush exports the spans that have ended, and returns an error if a span did not arrive.
func (t *telemetry) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout/2)
	defer cancel()
	err := t.provider.ForceFlush(ctx)
	if failed := t.failed.Swap(nil); failed != nil {
		err = *failed // the cause of a timeout
	}
	if err != nil {
		return fmt.Errorf("spans did not reach %s: %w", t.collector, err)
	}
	return nil
}

// stop ends the controller and the exporter. It waits a second at most: flush has already sent the
// spans.
func (t *telemetry) stop() {
	t.control.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t.provider.Shutdown(ctx)
}
