// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package setup_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

func Example() {
	sdk := sdktrace.NewTracerProvider() // with the program's exporter
	defer sdk.Shutdown(context.Background())
	parts, err := setup.New(sdk, setup.Token(os.Getenv("SPANS_TOKEN")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer parts.Close()
	// otel.SetTracerProvider(parts.TracerProvider)
	http.Handle("/spans/", http.StripPrefix("/spans", parts.Handler))

	// A library starts a span.
	tracer := parts.TracerProvider.Tracer("github.com/XSAM/otelsql")
	query := func() {
		_, span := tracer.Start(context.Background(), "query")
		fmt.Println("query span:", span.IsRecording())
		span.End()
	}
	query()
	lease, err := parts.Controller.Lease(control.LeaseRequest{Owner: "me", Quiet: "otelsql", TTL: 10 * time.Minute, Why: "too many spans"})
	if err != nil {
		fmt.Println(err)
		return
	}
	query()
	if err := lease.Release(); err != nil {
		fmt.Println(err)
	}
	query()
	// Output:
	// query span: true
	// query span: false
	// query span: true
}

// A program with groups of its own, rules for libraries, and configuration.
func ExampleNew() {
	var sdk trace.TracerProvider = sdktrace.NewTracerProvider()
	gate := new(spangate.Gate) // the sites of the program read it
	parts, err := setup.New(sdk,
		setup.Registry(registry.New()),
		setup.Catalog(spangate.Gym, gate),
		setup.Provider(otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient)),
		setup.RulesText("example.com/billing* = billing"),
		setup.ReadyRules(otelgate.LibraryRules()),
		setup.Environment("MYAPP_OTEL"), // MYAPP_OTEL_ENABLED=1 MYAPP_OTEL_SPAN_GROUPS=default,-billing
		setup.File(os.Getenv("MYAPP_SPANS_FILE")),
		setup.Token(os.Getenv("MYAPP_SPANS_TOKEN")),
		setup.Control(control.MaxLeases(100)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer parts.Close()
	fmt.Println(parts.Registry.Namespaces())
	fmt.Println(parts.Controller.State().Baseline.Why)
	// Output:
	// [nemo_gym rules]
	// no MYAPP_OTEL_ENABLED, NEMO_GYM_OTEL_ENABLED or NEMO_LENS_ENABLED is set, so every span is off; set MYAPP_OTEL_ENABLED=1
}
