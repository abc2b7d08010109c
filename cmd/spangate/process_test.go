// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// mount is the path of the endpoint of a process.
const mount = "/debug/spans/"

// process stands for a program: the real endpoint, registry and gate, on a port of its own.
type process struct {
	*control.Controller
	registry *registry.Registry
	gate     spangate.Gate
	address  string
	server   *http.Server

	mu    sync.Mutex
	polls map[string]int // conditional requests for the state, by connection
}

// newProcess starts a process with the baseline default at an address, or at any if it is empty.
func newProcess(address string, endpoint []control.HandlerOption, options ...control.Option) (*process, error) {
	p := &process{registry: registry.New(), polls: make(map[string]int)}
	if err := p.registry.Register(spangate.Gym, &p.gate); err != nil {
		return nil, err
	}
	start := control.StartupBaseline(control.Baseline{Spec: "default", Who: "test"})
	c, err := control.New(p.registry, append([]control.Option{start}, options...)...)
	if err != nil {
		return nil, err
	}
	p.Controller = c
	mux := http.NewServeMux()
	mux.Handle(mount, http.StripPrefix(mount[:len(mount)-1], control.Handler(c, endpoint...)))
	l, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	p.address = l.Addr().String()
	p.server = &http.Server{Handler: p.counting(mux), ReadHeaderTimeout: time.Minute}
	go p.server.Serve(l) //nolint:errcheck // it ends when close closes it
	return p, nil
}

// counting returns next wrapped to count conditional requests.
func (p *process) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			p.mu.Lock()
			p.polls[r.RemoteAddr]++
			p.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// polled waits until n clients have each sent two conditional requests, and reports whether they
// have: then each has the answer to the first.
func (p *process) polled(n int) bool {
	p.mu.Lock()
	clear(p.polls)
	p.mu.Unlock()
	return eventually(func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		twice := 0
		for _, polls := range p.polls {
			if polls > 1 {
				twice++
			}
		}
		return twice >= n
	})
}

// url returns the URL of the endpoint.
func (p *process) url() string { return "http://" + p.address + mount }

// on returns the canonical spec of what the gate shows.
func (p *process) on() string { return spangate.Gym.Format(p.gate.Load()) }

func (p *process) close() error { return cmp.Or(p.server.Close(), p.Controller.Close()) }

// startProcess starts a process that ends with the test, and that anyone may change.
func startProcess(t *testing.T, options ...control.Option) *process {
	p, err := newProcess("", []control.HandlerOption{control.Authorize(control.Anyone())}, options...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.close()) })
	t.Setenv(envURL, p.url())
	return p
}

// gateBecomes waits until the gate shows spec, and reports whether it does.
func (p *process) gateBecomes(spec string) bool {
	return eventually(func() bool { return p.on() == spec })
}

// eventually waits until condition is true, and reports whether it is.
func eventually(condition func() bool) bool {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return false
}
