// SPDX-License-Identifier: Apache-2.0

// Package program is a program with spans to switch, for a browser to look at: the real
// endpoint over a real registry and real gates, on a port of its own.
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

// Mount is where the endpoint is, below the host: links that are not relative would miss it.
const Mount = "/debug/spans/"

// DB is the vocabulary of a library beside NeMo Gym's.
var DB = spangate.MustCatalog("mydb",
	[]spangate.Group{
		{Name: "query", Bit: 1 << 0, Doc: "one statement, from the pool to the last row"},
		{Name: "pool", Bit: 1 << 1, Doc: "waiting for a connection"},
	},
	[]spangate.Preset{{Name: "default", Mask: 1 << 0, Doc: "statements"}})

// Program is a program that runs. Its zero value does not; it must not be copied.
type Program struct {
	Gym, DB    spangate.Gate
	Registry   *registry.Registry
	Controller *control.Controller
	// URL is where a browser finds the page.
	URL string

	address string
	handler atomic.Pointer[http.Handler]
	server  *http.Server
}

// Start starts a program whose endpoint has these options.
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
	p.Replace(mux)
	return p, p.Serve()
}

// Serve listens: at first on any port, then on the same again.
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
	go p.server.Serve(l) //nolint:errcheck // it ends when Away closes it
	return nil
}

// Replace puts another handler before whoever asks, as a proxy on the way may.
func (p *Program) Replace(h http.Handler) { p.handler.Store(&h) }

// Away makes the program unreachable, with its connections cut, until Serve.
func (p *Program) Away() error { return p.server.Close() }

// Close ends the program.
func (p *Program) Close() error { return cmp.Or(p.Away(), p.Controller.Close()) }

// Lease leases a spec as somebody else does, past the page.
func (p *Program) Lease(owner, spec, why string, ttl time.Duration) (control.Lease, error) {
	return p.Controller.Lease(control.LeaseRequest{Owner: owner, Spec: spec, Why: why, TTL: ttl})
}

// Until waits for what takes a moment, and reports whether it came.
func Until(ctx context.Context, is func() bool) bool {
	for !is() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}
