// SPDX-License-Identifier: Apache-2.0

// Command screenshot takes the pictures of the page for docs, or with phone those of a narrow window:
//
//	go run ./internal/test/page/screenshot docs
//	go run ./internal/test/page/screenshot /tmp phone
package main //spangate:ignore nosite the pictures show groups, no spans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/internal/test/page/browser"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: screenshot DIRECTORY [phone]")
		os.Exit(2)
	}
	if err := run(os.Args[1], len(os.Args) > 2); err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		os.Exit(1)
	}
}

// run writes the pictures into dir, in light and dark.
func run(dir string, phone bool) error {
	parts, server, err := example()
	if err != nil {
		return err
	}
	defer parts.Close()
	defer server.Close()

	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	ctx, stop, err := browser.Start(profile)
	if err != nil {
		return err
	}
	defer stop()
	tab, closeTab, err := browser.Open(ctx)
	if err != nil {
		return err
	}
	defer closeTab()

	name, width, height := "page", int64(1000), int64(1176)
	if phone {
		name, width, height = "page-phone", 360, 1480
	}
	for _, picture := range []struct{ scheme, name string }{{"light", name}, {"dark", name + "-dark"}} {
		err := cmp.Or(
			tab.Size(width, height, chromedp.EmulateScale(1.5)),
			tab.Prefer("prefers-color-scheme", picture.scheme),
			tab.Do(chromedp.Navigate(server.URL+"/spans/"), chromedp.WaitVisible("#you")),
		)
		if err != nil {
			return err
		}
		png, err := tab.Screenshot()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, picture.name+".png"), png, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// example starts a service that sends requests to a database and other services for a while, and
// in which three people have leases, one of them a detail.
func example() (parts *setup.Parts, server *httptest.Server, err error) {
	log := slog.New(slog.DiscardHandler)
	parts, err = setup.New(sdktrace.NewTracerProvider(), setup.CountWithheld(),
		setup.Registry(registry.New(registry.Logger(log))),
		setup.RulesText(`
			github.com/XSAM/otelsql client = sql
			github.com/XSAM/otelsql        = sql_pool
			github.com/IBM/sarama*         = kafka
		`),
		setup.Control(control.Logger(log), control.StartupBaseline(control.Baseline{Spec: "default,-sql_pool,-otelgrpc", Who: "environment", Why: "SPANS"}), control.Deny("aws-sdk-go-v2")),
		setup.Handler(control.Authorize(control.Anyone())))
	if err != nil {
		return nil, nil, err
	}
	traffic := []struct {
		scope     string
		kind      trace.SpanKind
		perSecond int
	}{
		{"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", trace.SpanKindServer, 48},
		{"github.com/XSAM/otelsql", trace.SpanKindClient, 310},
		{"github.com/XSAM/otelsql", trace.SpanKindInternal, 95},
		{"github.com/redis/go-redis/extra/redisotel/v9", trace.SpanKindClient, 640},
		{"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", trace.SpanKindClient, 22},
		{"github.com/IBM/sarama/otelsarama", trace.SpanKindProducer, 7},
		{"example.com/shop/checkout", trace.SpanKindInternal, 48},
		{"github.com/aws/aws-sdk-go-v2", trace.SpanKindClient, 2},
	}
	run := func(d time.Duration) {
		for start := time.Now(); time.Since(start) < d; time.Sleep(100 * time.Millisecond) {
			ctx := context.Background() // the first span is the parent of the others
			for _, t := range traffic {
				for range max(1, t.perSecond/10) {
					in, span := parts.TracerProvider.Tracer(t.scope).Start(ctx, "request", trace.WithSpanKind(t.kind))
					span.End()
					if ctx == context.Background() {
						ctx = in
					}
				}
			}
		}
	}
	run(time.Second)
	for _, l := range []control.LeaseRequest{
		{Owner: "ada", Spec: "sql_pool", Why: "checkouts wait for connections", TTL: 5 * time.Minute},
		{Owner: "grace", Quiet: "redisotel", Why: "half of all spans, and none of the trouble", TTL: 28*time.Minute + 12*time.Second},
		{Owner: "lin", Spec: "otelgrpc", Match: "customer=42", Why: "their checkouts are slow", TTL: 47*time.Minute + 30*time.Second},
	} {
		if _, err := parts.Controller.Lease(l); err != nil {
			return nil, nil, errors.Join(err, parts.Close())
		}
	}
	run(3 * time.Second)
	mux := http.NewServeMux()
	mux.Handle("/spans/", http.StripPrefix("/spans", parts.Handler))
	return parts, httptest.NewServer(mux), nil
}
