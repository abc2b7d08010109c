// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/XSAM/otelsql"
	_ "github.com/glebarez/go-sqlite"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/setup"
)

// rules puts the spans of libraries in groups. A scope that no rule names is a group of its own: worker, here.
const rules = `
github.com/XSAM/otelsql* = sql
go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp server = server
go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp client = client
`

// worker is the tracer of the worker. It may be fetched before a provider is installed.
var worker = otel.Tracer("shop/worker")

// telemetry is OpenTelemetry's SDK, with its spans behind gates.
type telemetry struct {
	*setup.Parts
	metrics *sdkmetric.MeterProvider
}

// startTelemetry installs the SDK and gates its spans. It sends spans and metrics to the collector at this
// URL; if the URL is empty, spans are only counted.
func startTelemetry(ctx context.Context, collector, token string) (*telemetry, error) {
	var spans []sdktrace.TracerProviderOption
	var metrics []sdkmetric.Option
	if collector != "" {
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector+"/v1/traces"))
		if err != nil {
			return nil, err
		}
		meters, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(collector+"/v1/metrics"))
		if err != nil {
			return nil, err
		}
		spans = append(spans, sdktrace.WithBatcher(exporter))
		metrics = append(metrics, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(meters)))
	}
	t := &telemetry{metrics: sdkmetric.NewMeterProvider(metrics...)}
	var err error
	t.Parts, err = setup.New(sdktrace.NewTracerProvider(spans...),
		setup.RulesText(rules),
		setup.CountWithheld(),
		setup.Token(token),
		setup.Control(control.Metrics(t.metrics)))
	if err != nil {
		return nil, err
	}
	otel.SetTracerProvider(t.TracerProvider)
	otel.SetMeterProvider(t.metrics)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return t, nil
}

// stop exports the last spans and metrics, and stops the SDK.
func (t *telemetry) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(t.metrics.Shutdown(ctx), t.Close(), t.TracerProvider.Shutdown(ctx))
}

// openDatabase opens an empty database in memory.
func openDatabase(ctx context.Context) (*sql.DB, error) {
	db, err := otelsql.Open("sqlite", "file:orders?mode=memory&cache=shared")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (item TEXT, sent BOOLEAN NOT NULL DEFAULT false)")
	return db, err
}
