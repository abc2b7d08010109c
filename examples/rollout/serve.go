// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelsdk/gym"
)

const (
	// serveCommand is the first argument of a process that the driver starts.
	serveCommand = "serve"
	// tokenVariable has the token for changes. The spangate command reads it too.
	tokenVariable = "SPANGATE_TOKEN"
	// spansPath is where a process shows which of its groups are on, and takes changes.
	spansPath = "/spans/"
	// callTimeout bounds each request of one process to another. The longest, a whole rollout,
	// takes a few milliseconds.
	callTimeout = 10 * time.Second
	// maxBody is the length of the longest body that is read.
	maxBody = 1 << 20
)

// serve is the main function of a server process. It prints its URL on stdout, and returns when
// its stdin is closed: by the driver, or by the system when the driver has died.
func serve(args []string) error {
	signal.Ignore(os.Interrupt) // a terminal sends Ctrl-C to the servers too; the driver stops them

	if len(args) != 4 {
		return fmt.Errorf("%s is for the driver: it takes a role and the URLs of the collector, the model and the resources", serveCommand)
	}
	role, collector, model, resources := args[0], args[1], args[2], args[3]
	t, err := startTelemetry(context.Background(), role, collector)
	if err != nil {
		return err
	}
	defer t.stop()

	var work http.Handler
	switch role {
	case "agent":
		work = newAgent(t, model, resources)
	case "model":
		work = newModel(t)
	case "resources":
		work = newResources(t)
	default:
		return fmt.Errorf("no role %q", role)
	}
	s, err := startServer(t, os.Getenv(tokenVariable), work)
	if err != nil {
		return err
	}
	fmt.Println(s.url)
	io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// server serves the work of a process, which is traced, and its endpoint and flush, which are not.
type server struct {
	*telemetry
	http.Server
	url     string
	working sync.RWMutex // read-locked by each request for work
}

func startServer(t *telemetry, token string, work http.Handler) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if !t.bare() {
		// otelhttp does not know the gate: it finds the gated provider as the global one.
		work = otelhttp.NewHandler(work, "", otelhttp.WithSpanNameFormatter(spanName))
	}
	work = gym.StripRolloutPrefix(work)
	s := &server{telemetry: t, url: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.Handle(spansPath, http.StripPrefix(strings.TrimSuffix(spansPath, "/"),
		control.Handler(t.control, control.Authorize(control.BearerToken(token)))))
	handle(mux, "POST /flush", s.flushAll)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.working.RLock()
		defer s.working.RUnlock()
		work.ServeHTTP(w, r)
	})
	s.Handler, s.ReadHeaderTimeout = mux, callTimeout
	go s.Serve(listener)
	return s, nil
}

// flushAll returns when every span of the requests so far has reached the collector. It waits
// for requests that are being handled, as a caller can have the response before the server's
// span has ended.
func (s *server) flushAll(ctx context.Context, _ struct{}) (struct{}, error) {
	s.working.Lock()
	defer s.working.Unlock()
	return struct{}{}, s.flush(ctx)
}

// spanName names the spans of a server, as FastAPI's instrumentation does in Gym. Those of a client are
// called "HTTP POST", in Gym and by otelhttp.
func spanName(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }

// newClient returns a client whose calls are spans of the group http_client.
func (t *telemetry) newClient() *http.Client {
	client := &http.Client{Timeout: callTimeout}
	if !t.bare() {
		client.Transport = otelhttp.NewTransport(http.DefaultTransport)
	}
	return client
}

// handle makes fn answer the requests that match pattern.
func handle[Request, Response any](mux *http.ServeMux, pattern string, fn func(context.Context, Request) (Response, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
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
		json.NewEncoder(w).Encode(response) // an error means that the caller has disconnected
	})
}

// call posts request to a path of the server at base, under the prefix of the rollout. When it returns the
// response, the client's span has ended.
func call[Response any](ctx context.Context, client *http.Client, base, path string, request any) (response Response, err error) {
	url := base + gym.RolloutPrefix(ctx) + path
	body, err := json.Marshal(request)
	if err != nil {
		return response, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return response, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return response, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	if err == nil {
		err = json.Unmarshal(text, &response)
	}
	if err != nil {
		err = fmt.Errorf("POST %s: %w", url, err)
	}
	return response, err
}
