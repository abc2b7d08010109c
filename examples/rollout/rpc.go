// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

const (
	// callTimeout bounds every request of one process to another. The longest, a whole
	// rollout, takes a few milliseconds.
	callTimeout = 10 * time.Second
	// maxBody is the length of the longest body that is read.
	maxBody = 1 << 20
)

// newClient returns a client whose calls are spans of the group http_client. It knows
// nothing of gates: the transport finds the gated provider by itself.
func newClient() *http.Client {
	name := func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }
	return &http.Client{
		Transport: otelhttp.NewTransport(http.DefaultTransport, otelhttp.WithSpanNameFormatter(name)),
		Timeout:   callTimeout,
	}
}

// handle has fn answer the requests that match pattern, in a span of the group server.
func handle[Request, Response any](mux *http.ServeMux, pattern string, fn func(context.Context, Request) (Response, error)) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		var request Request
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response, err := fn(r.Context(), request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(response) // an error means that the caller has gone
	}
	mux.Handle(pattern, otelhttp.NewHandler(http.HandlerFunc(answer), pattern))
}

// call posts request to url and returns the response.
func call[Response any](ctx context.Context, client *http.Client, url string, request any) (response Response, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return response, err
	}
	text, err := send(ctx, client, http.MethodPost, url, body)
	if err != nil {
		return response, err
	}
	if err := json.Unmarshal(text, &response); err != nil {
		return response, fmt.Errorf("POST %s: %w", url, err)
	}
	return response, nil
}

// send returns the body of a response that is not an error. It is read to its end before
// send returns, so the client's span has ended by then.
func send(ctx context.Context, client *http.Client, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %s: %s", method, url, response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}
