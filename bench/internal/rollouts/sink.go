// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// newSink is a collector that throws away what it is sent. To receive spans is no part of
// what they cost a program, so it is not in one of the processes that are measured.
func newSink() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf") // of an empty response: nothing
	}))
}
