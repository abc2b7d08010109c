// SPDX-License-Identifier: Apache-2.0

//go:build !race

package setup

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/glebarez/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is an HTTP server whose handler queries SQLite, with the endpoint beside it.
type service struct {
	url      string
	client   *http.Client
	tracer   trace.Tracer // of the caller of the server
	exported *tracetest.InMemoryExporter
}

// newService returns a server that is instrumented with package setup.
func newService(t *testing.T, opts ...setup.Option) *service {
	s := &service{exported: tracetest.NewInMemoryExporter()}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.exported))
	t.Cleanup(func() { assert.NoError(t, sdk.Shutdown(context.Background())) })
	parts, err := setup.New(sdk, append(opts,
		setup.Registry(registry.New()), setup.Token("secret"), setup.CountWithheld(),
		setup.Control(control.Logger(slog.New(slog.DiscardHandler))))...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, parts.Close()) })

	db, err := otelsql.Open(sqlite.DriverName, ":memory:", otelsql.WithTracerProvider(parts.TracerProvider))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	instrumented := []otelhttp.Option{otelhttp.WithTracerProvider(parts.TracerProvider), otelhttp.WithPropagators(propagation.TraceContext{})}
	mux := http.NewServeMux()
	mux.Handle("/spans/", http.StripPrefix("/spans", parts.Handler))
	mux.Handle("/work", otelhttp.NewHandler(query(db), "work", instrumented...))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	s.url, s.client, s.tracer = server.URL, &http.Client{Transport: otelhttp.NewTransport(transport, instrumented...)}, parts.TracerProvider.Tracer(callerScope)
	return s
}

func query(db *sql.DB) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var one int
		if err := db.QueryRowContext(r.Context(), "SELECT 1").Scan(&one); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// work makes a request, and returns the ID of its trace.
func (s *service) work(t assert.TestingT) trace.TraceID {
	ctx, span := s.tracer.Start(context.Background(), "call")
	defer span.End()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/work", nil)
	if !assert.NoError(t, err) {
		return trace.TraceID{}
	}
	answer, err := s.client.Do(r)
	if assert.NoError(t, err) {
		_, _ = io.Copy(io.Discard, answer.Body)
		assert.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusOK, answer.StatusCode)
	}
	return span.SpanContext().TraceID()
}

// scopesOf returns the scopes of the exported spans of a trace, each once, sorted.
func (s *service) scopesOf(id trace.TraceID) []string {
	var scopes []string
	for _, span := range s.exported.GetSpans() {
		if span.SpanContext.TraceID() == id {
			scopes = append(scopes, span.InstrumentationScope.Name)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// requireWholeTraces fails if a span has a parent that was not exported, or a trace has two roots.
func (s *service) requireWholeTraces(t *testing.T) {
	t.Helper()
	exported, roots := map[trace.SpanID]bool{}, map[trace.TraceID]int{}
	spans := s.exported.GetSpans()
	for _, span := range spans {
		exported[span.SpanContext.SpanID()] = true
	}
	for _, span := range spans {
		if !span.Parent.IsValid() {
			roots[span.SpanContext.TraceID()]++
		}
		require.True(t, !span.Parent.IsValid() || exported[span.Parent.SpanID()], "%s is an orphan", span.Name)
	}
	for id, n := range roots {
		require.Equal(t, 1, n, "roots of trace %v", id)
	}
}

const (
	callerScope = "example.com/caller"
	httpScope   = otelhttp.ScopeName
	sqlScope    = "github.com/XSAM/otelsql"
)

// decimal parses a count of the endpoint's JSON.
func decimal(t require.TestingT, text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func TestOperatorQuietsSQLUnderLoadAndTracesStayWhole(t *testing.T) {
	s := newService(t)
	endpoint, err := client.New(s.url+"/spans/", client.Token("secret"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var load sync.WaitGroup
	defer load.Wait()
	defer cancel()
	for range 2 {
		load.Go(func() {
			for ctx.Err() == nil {
				s.work(t)
			}
		})
	}

	all := []string{callerScope, sqlScope, httpScope}
	require.Equal(t, all, s.scopesOf(s.work(t)), "adopting the package turns nothing off")
	lease, err := endpoint.Lease(ctx, wire.LeaseRequest{Quiet: "otelsql", Owner: "me", TTL: "10m", Why: "too many spans"})
	require.NoError(t, err)
	for range 20 {
		require.Equal(t, []string{callerScope, httpScope}, s.scopesOf(s.work(t)))
	}
	_, err = endpoint.Release(ctx, lease.ID)
	require.NoError(t, err)
	require.Equal(t, all, s.scopesOf(s.work(t)))
	cancel()
	load.Wait()
	s.requireWholeTraces(t)

	// The endpoint looks at the counts once a second.
	started := map[string]int{}
	for _, span := range s.exported.GetSpans() {
		started[span.InstrumentationScope.Name]++
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		state, err := endpoint.State(context.Background())
		require.NoError(t, err)
		counted := map[string]int{}
		for _, scope := range state.Scopes {
			counted[scope.Name] = decimal(t, scope.Spans.Started)
		}
		assert.Equal(t, started, counted)
		for _, g := range state.Groups {
			if g.Name == "otelsql" {
				assert.Equal(t, started[sqlScope], decimal(t, g.Spans.Started))
				assert.GreaterOrEqual(t, decimal(t, g.Spans.Withheld), 20)
			}
		}
		assert.Equal(t, []string{"caller", "otelhttp", "otelsql"}, state.Enabled)
	}, time.Minute, 100*time.Millisecond)
}
