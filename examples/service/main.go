// SPDX-License-Identifier: Apache-2.0

// Service is an ordinary backend, a shop that takes orders: HTTP with otelhttp, SQL on SQLite with
// otelsql, and a worker. Its spans can be turned on and off while it runs:
//
//	go run ./examples/service
//	go run ./examples/service --otlp http://localhost:4318    sends spans and metrics to a collector
//
// It prints the URL of a page that shows the spans of each library, with counts, and quiets them.
// Customers order all the time, so that the counts move; --customers 0 stops that.
//
// telemetry.go has everything that concerns OpenTelemetry and spangate; the rest of the program
// is that of any backend.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

type options struct {
	listen, otlp, token string
	customers           int
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "localhost:8080", "`address` of the shop")
	flag.StringVar(&o.otlp, "otlp", "", "`URL` of a collector that takes OTLP over HTTP, as in http://localhost:4318")
	flag.StringVar(&o.token, "token", "secret", "the token that a change of the spans must carry")
	flag.IntVar(&o.customers, "customers", 2, "`number` of customers, each with twenty requests a second")
	flag.Parse()
	if collector, err := url.Parse(o.otlp); err != nil || o.otlp != "" && (collector.Host == "" || !strings.HasPrefix(collector.Scheme, "http")) {
		log.Fatalf("service: --otlp %q: must be an http or https URL, as in http://localhost:4318", o.otlp)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		log.Fatal("service: ", err)
	}
}

const usage = `The shop is at %[1]s/orders, and its spans are at %[1]s/spans/

    SPANGATE_URL=%[1]s/spans SPANGATE_TOKEN=%[2]s go run ./cmd/spangate quiet sql --for 10m --owner me
`

// run runs the shop until ctx is done.
func run(ctx context.Context, o options, stdout io.Writer) (err error) {
	t, err := startTelemetry(ctx, strings.TrimSuffix(o.otlp, "/"), o.token)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	db, err := openDatabase(ctx)
	if err != nil {
		return err
	}
	defer db.Close()

	mux := http.NewServeMux()
	mux.Handle("/orders", otelhttp.NewHandler(orders(db), "orders"))
	// Not wrapped by otelhttp, so that a look at the spans starts none.
	mux.Handle("/spans/", http.StripPrefix("/spans", t.Handler))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	address := "http://" + listener.Addr().String()
	fmt.Fprintf(stdout, usage, address, o.token)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	working.Go(func() { work(ctx, db) })
	for range o.customers {
		working.Go(func() { buy(ctx, address+"/orders") })
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	working.Wait()
	return errors.Join(err, server.Shutdown(context.Background()))
}

// orders counts the orders that were sent, and takes new ones.
func orders(db *sql.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		var sent int
		err := db.QueryRowContext(r.Context(), "SELECT count(*) FROM orders WHERE sent").Scan(&sent)
		answer(w, fmt.Sprintf("%d orders were sent", sent), err)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		_, err := db.ExecContext(r.Context(), "INSERT INTO orders (item) VALUES (?)", r.FormValue("item"))
		answer(w, "thank you", err)
	})
	return mux
}

func answer(w http.ResponseWriter, text string, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, text)
}

// work sends the orders that have not been sent, ten times a second until ctx is done.
func work(ctx context.Context, db *sql.DB) {
	for pause(ctx) {
		ctx, span := worker.Start(context.Background(), "send orders")
		if _, err := db.ExecContext(ctx, "UPDATE orders SET sent = true WHERE NOT sent"); err != nil {
			log.Print("worker: ", err)
		}
		span.End()
	}
}

// buy is a customer: it orders, and asks how many orders were sent, until ctx is done.
func buy(ctx context.Context, shop string) {
	client := http.Client{Transport: otelhttp.NewTransport(nil)}
	read := func(answer *http.Response, err error) {
		if err != nil {
			log.Print("customer: ", err)
			return
		}
		defer answer.Body.Close()
		if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
			log.Printf("customer: %s: %s", answer.Status, text)
		}
	}
	for pause(ctx) {
		read(client.PostForm(shop, url.Values{"item": {"book"}}))
		read(client.Get(shop))
	}
}

// pause waits a tenth of a second, and reports whether ctx is not done.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(100 * time.Millisecond):
		return true
	}
}
