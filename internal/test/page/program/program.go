// SPDX-License-Identifier: Apache-2.0

// Package program is a program for tests of the page: a gated provider of an OpenTelemetry SDK, and
// the endpoint over a registry with two catalogs, on a port of its own.
package program

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

// Mount is the path of the endpoint. It is not the root, so that only relative links work.
const Mount = "/debug/spans/"

// DB is the catalog of a second library.
var DB = spangate.MustCatalog("mydb",
	[]spangate.Group{
		{Name: "query", Bit: 1 << 0, Doc: "one statement, from the pool to the last row"},
		{Name: "pool", Bit: 1 << 1, Doc: "waiting for a connection"},
	},
	[]spangate.Preset{{Name: "default", Mask: 1 << 0, Doc: "statements"}})

// Program is a running program, made by Start. It must not be copied.
type Program struct {
	*setup.Parts
	Gym, DB spangate.Gate
	// URL is the address of the page.
	URL string

	address string
	served  atomic.Pointer[http.Handler]
	server  *http.Server
}

// Start starts a program. endpoint has the options of control.Handler.
func Start(endpoint []control.HandlerOption, options ...control.Option) (*Program, error) {
	p := new(Program)
	var err error
	p.Parts, err = setup.New(sdktrace.NewTracerProvider(),
		setup.Registry(registry.New(registry.Logger(slog.New(slog.DiscardHandler)))),
		setup.Catalog(spangate.Gym, &p.Gym), setup.Catalog(DB, &p.DB), setup.CountWithheld(),
		setup.Provider(
			otelgate.Rule{Scope: "github.com/XSAM/otelsql", Kind: trace.SpanKindClient, Gate: &p.DB, Group: 1},
			otelgate.Rule{Scope: "github.com/XSAM/otelsql", Gate: &p.DB, Group: 2},
			otelgate.Rule{Scope: "github.com/redis/go-redis/extra/redisotl", Group: spangate.BitSandbox}, // misspelt: no scope matches
		),
		setup.Control(control.StartupBaseline(control.Baseline{}), control.Logger(slog.New(slog.DiscardHandler))), setup.Control(options...),
		setup.Handler(endpoint...))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(Mount, http.StripPrefix(Mount[:len(Mount)-1], p.Handler))
	p.SetHandler(mux)
	return p, p.Serve()
}

// Serve listens: first on any port, later on the same again.
func (p *Program) Serve() error {
	l, err := net.Listen("tcp", cmp.Or(p.address, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	p.address = l.Addr().String()
	p.URL = "http://" + p.address + Mount
	p.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.served.Load()).ServeHTTP(w, r) }),
		ReadHeaderTimeout: time.Minute,
	}
	go p.server.Serve(l) //nolint:errcheck // it returns when Stop is called
	return nil
}

// SetHandler replaces the handler of all requests, as a proxy does.
func (p *Program) SetHandler(h http.Handler) { p.served.Store(&h) }

// Stop closes the port and its connections until Serve is called.
func (p *Program) Stop() error { return p.server.Close() }

// Close stops the program and closes its parts.
func (p *Program) Close() error { return cmp.Or(p.Stop(), p.Parts.Close()) }

// Lease leases a spec without the page.
func (p *Program) Lease(owner, spec, why string, ttl time.Duration) (control.Lease, error) {
	return p.Controller.Lease(control.LeaseRequest{Owner: owner, Spec: spec, Why: why, TTL: ttl})
}

// WaitUntil waits until condition returns true, and returns false if ctx ends first.
func WaitUntil(ctx context.Context, condition func() bool) bool {
	for !condition() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}
