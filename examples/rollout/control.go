// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"sync"

	"github.com/spangate/spangate"
)

// control lets the driver change a server's spans while it runs. It is not traced. It does
// not ask who is calling either; a program that others can reach has to.
type control struct {
	*telemetry
	busy sync.RWMutex // read-locked by each request that is being handled
}

// around returns a handler for the control's own two paths and, beneath them, for work.
func (c *control) around(work http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /spans", c.setSpans)
	mux.HandleFunc("POST /flush", c.flushSpans)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.busy.RLock()
		defer c.busy.RUnlock()
		work.ServeHTTP(w, r)
	})
	return mux
}

// setSpans turns exactly the groups of the spec in the body on, from the next site on.
func (c *control) setSpans(w http.ResponseWriter, r *http.Request) {
	spec, err := io.ReadAll(io.LimitReader(r.Body, spangate.MaxSpecLen+1)) // a byte too many is for Parse to refuse
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	mask, err := spangate.Parse(string(spec))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.gate.Store(mask)
	w.WriteHeader(http.StatusNoContent)
}

// flushSpans answers when every span of the requests so far has reached the collector. A
// client can have its response before the server's span has ended, so the requests that are
// being handled are waited for.
func (c *control) flushSpans(w http.ResponseWriter, r *http.Request) {
	c.busy.Lock()
	defer c.busy.Unlock()
	if err := c.flush(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
