// SPDX-License-Identifier: Apache-2.0

// Package program is a program for tests of the page: the endpoint over a registry with two gates,
// on a port of its own.
package program

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
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
	Gym, DB    spangate.Gate
	Registry   *registry.Registry
	Controller *control.Controller
	// URL is the address of the page.
	URL string

	address string
	handler atomic.Pointer[http.Handler]
	server  *http.Server
}

// Start starts a program. endpoint has the options of control.Handler.
func Start(endpoint []control.HandlerOption, options ...control.Option) (*Program, error) {
	p := &Program{Registry: registry.New(registry.Logger(slog.New(slog.DiscardHandler)))}
	if err := cmp.Or(p.Registry.Register(spangate.Gym, &p.Gym), p.Registry.Register(DB, &p.DB)); err != nil {
		return nil, err
	}
	options = append([]control.Option{control.Logger(slog.New(slog.DiscardHandler))}, options...)
	c, err := control.New(p.Registry, options...)
	if err != nil {
		return nil, err
	}
	p.Controller = c
	mux := http.NewServeMux()
	mux.Handle(Mount, http.StripPrefix(Mount[:len(Mount)-1], control.Handler(c, endpoint...)))
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
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.handler.Load()).ServeHTTP(w, r) }),
		ReadHeaderTimeout: time.Minute,
	}
	go p.server.Serve(l) //nolint:errcheck // it returns when Stop is called
	return nil
}

// SetHandler replaces the handler of all requests, as a proxy does.
func (p *Program) SetHandler(h http.Handler) { p.handler.Store(&h) }

// Stop closes the port and its connections until Serve is called.
func (p *Program) Stop() error { return p.server.Close() }

// Close stops the program and closes its controller.
func (p *Program) Close() error { return cmp.Or(p.Stop(), p.Controller.Close()) }

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
