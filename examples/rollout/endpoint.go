// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/spangate/spangate/control"
)

// spansPath is where a process shows which of its spans are on, and lets who has the token
// change that.
const spansPath = "/spans/"

// endpoint is what a process serves: its work, and beside it what is not traced.
type endpoint struct {
	*telemetry
	server *http.Server
	url    string
	busy   sync.RWMutex // read-locked by each request that is being handled
}

func startEndpoint(t *telemetry, token string, work http.Handler) (*endpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{telemetry: t, url: "http://" + listener.Addr().String()}
	spans := control.Handler(t.control, control.Authorize(control.BearerToken(token)))
	mux := http.NewServeMux()
	mux.Handle(spansPath, http.StripPrefix(strings.TrimSuffix(spansPath, "/"), spans))
	mux.HandleFunc("POST /flush", e.flushSpans)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		e.busy.RLock()
		defer e.busy.RUnlock()
		work.ServeHTTP(w, r)
	})
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: callTimeout}
	go e.server.Serve(listener)
	return e, nil
}

// stop waits for nobody: whoever still wants an answer is about to end, too.
func (e *endpoint) stop() error { return e.server.Close() }

// flushSpans answers when every span of the requests so far has reached the collector. A
// client can have its response before the server's span has ended, so the requests that are
// being handled are waited for.
func (e *endpoint) flushSpans(w http.ResponseWriter, r *http.Request) {
	e.busy.Lock()
	defer e.busy.Unlock()
	if err := e.flush(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
