// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// asProgram is the environment variable that makes this test binary run the program.
const asProgram = "SPANGATE_TEST_SERVICE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	m.Run()
}

// backend keeps the spans that it receives, and the latest points of each metric.
type backend struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []span
	metrics map[string]map[string]uint64 // of sums and of counts of histograms: by name and attributes
}

type span struct {
	ptrace.Span
	scope string
}

func newBackend(t *testing.T) *backend {
	b := &backend{metrics: make(map[string]map[string]uint64)}
	receive := func(decode func([]byte) error) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			body := io.Reader(r.Body)
			if r.Header.Get("Content-Encoding") == "gzip" {
				unzipped, err := gzip.NewReader(r.Body)
				if !assert.NoError(t, err) {
					return
				}
				body = unzipped
			}
			text, err := io.ReadAll(body)
			assert.NoError(t, err)
			b.mu.Lock()
			defer b.mu.Unlock()
			assert.NoError(t, decode(text))
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/traces", receive(b.addSpans))
	mux.Handle("POST /v1/metrics", receive(b.addMetrics))
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

func (b *backend) addSpans(body []byte) error {
	request := ptraceotlp.NewExportRequest()
	err := request.UnmarshalProto(body)
	for _, resource := range request.Traces().ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				b.spans = append(b.spans, span{s, scope.Scope().Name()})
			}
		}
	}
	return err
}

func (b *backend) addMetrics(body []byte) error {
	request := pmetricotlp.NewExportRequest()
	err := request.UnmarshalProto(body)
	for _, resource := range request.Metrics().ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				points := make(map[string]uint64)
				add := func(attributes pcommon.Map, n uint64) {
					for _, key := range []string{"spangate.group", "db.operation.name", "http.request.method"} {
						if value, ok := attributes.Get(key); ok {
							points[value.Str()] += n
						}
					}
				}
				switch m.Type() {
				case pmetric.MetricTypeSum:
					for _, p := range m.Sum().DataPoints().All() {
						add(p.Attributes(), uint64(p.IntValue()))
					}
				case pmetric.MetricTypeHistogram:
					for _, p := range m.Histogram().DataPoints().All() {
						add(p.Attributes(), p.Count())
					}
				}
				b.metrics[m.Name()] = points
			}
		}
	}
	return err
}

// startService starts the program and returns a client of its endpoint, and a function that
// interrupts it and waits until it has ended.
func startService(t *testing.T, args ...string) (c *client.Client, stop func()) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, append(args, "--listen", "127.0.0.1:0", "--token", "t")...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "%s", &log)
	_, url, _ := strings.Cut(strings.TrimSpace(line), "its spans are at ")
	c, err = client.New(url, client.Token("t"))
	require.NoError(t, err)
	return c, func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), "%s", &log)
		require.NotContains(t, log.String(), "worker: ")
		require.NotContains(t, log.String(), "customer: ")
	}
}

// counts are the numbers of spans that a group has started and withheld; 0 before its first span.
type counts struct{ started, withheld int }

func countsOf(state *client.State, group string) (c counts) {
	for _, g := range state.Groups {
		if g.Name == group && g.Spans != nil {
			c.started, _ = strconv.Atoi(g.Spans.Started)
			c.withheld, _ = strconv.Atoi(g.Spans.Withheld)
		}
	}
	return c
}

// await returns the first state that satisfies ready.
func await(t *testing.T, c *client.Client, ready func(*client.State) bool) *client.State {
	var state *client.State
	require.Eventually(t, func() bool {
		var err error
		state, err = c.State(context.Background())
		return err == nil && ready(state)
	}, time.Minute, 20*time.Millisecond)
	return state
}

func isOn(state *client.State, group string) bool { return slices.Contains(state.Enabled, group) }

func TestQuietedSQLUnderLoadLeavesTracesWholeAndMetricsUnchanged(t *testing.T) {
	b := newBackend(t)
	c, stop := startService(t, "--otlp", b.URL, "--customers", "4")
	moved := func(group string, from counts) func(*client.State) bool {
		return func(s *client.State) bool { return countsOf(s, group).started > from.started+10 }
	}
	state := await(t, c, moved("sql", counts{}))
	require.Equal(t, []string{"client", "server", "sql", "worker"}, state.Enabled)
	require.Empty(t, state.Unmatched)

	lease, err := c.Lease(t.Context(), wire.LeaseRequest{Quiet: "sql", TTL: "2s", Owner: "ann"})
	require.NoError(t, err)
	from := time.Now()
	state = await(t, c, moved("server", countsOf(state, "server")))
	require.False(t, isOn(state, "sql"))
	state = await(t, c, func(s *client.State) bool { return isOn(s, "sql") })
	state = await(t, c, moved("sql", countsOf(state, "sql")))
	require.NotZero(t, countsOf(state, "sql").withheld)
	require.Zero(t, countsOf(state, "server").withheld)
	stop()

	b.mu.Lock()
	defer b.mu.Unlock()
	duringLease := make(map[string]int)
	for _, s := range b.spans {
		if start := s.StartTimestamp().AsTime(); start.After(from) && start.Before(lease.End) {
			duringLease[s.scope]++
		}
	}
	require.Zero(t, duringLease[sqlScope])
	require.NotZero(t, duringLease[otelhttp.ScopeName])
	require.NotZero(t, duringLease["shop/worker"])
	checkTraces(t, b)
	checkMetrics(t, b)
}

const sqlScope = "github.com/XSAM/otelsql"

// checkTraces checks that each trace has one root and no parent is missing, with SQL and without.
func checkTraces(t *testing.T, b *backend) {
	ids := make(map[pcommon.SpanID]bool)
	for _, s := range b.spans {
		ids[s.SpanID()] = true
	}
	roots, with, without := make(map[pcommon.TraceID]int), 0, 0
	sql := make(map[pcommon.TraceID]bool)
	for _, s := range b.spans {
		if s.ParentSpanID().IsEmpty() {
			roots[s.TraceID()]++
		} else {
			require.True(t, ids[s.ParentSpanID()], "%s is an orphan", s.Name())
		}
		sql[s.TraceID()] = sql[s.TraceID()] || s.scope == sqlScope
	}
	for trace, hasSQL := range sql {
		require.Equal(t, 1, roots[trace])
		if hasSQL {
			with++
		} else {
			without++
		}
	}
	require.NotZero(t, with)
	require.NotZero(t, without)
}

// checkMetrics compares the metrics of the libraries with the spans of the groups that were always
// on, and those of spangate with the spans that arrived.
func checkMetrics(t *testing.T, b *backend) {
	spans := make(map[string]uint64)
	for _, s := range b.spans {
		switch {
		case s.scope == sqlScope:
			spans["sql"]++
		case s.Kind() == ptrace.SpanKindServer:
			spans["server"]++
			method, _ := s.Attributes().Get("http.request.method")
			spans[method.Str()]++
		case s.Kind() == ptrace.SpanKindClient:
			spans["client"]++
		default:
			spans["worker"]++
		}
	}
	require.Equal(t, map[string]uint64{"GET": spans["GET"], "POST": spans["POST"]}, b.metrics["http.server.request.duration"])
	require.Equal(t, map[string]uint64{"GET": spans["GET"], "POST": spans["POST"]}, b.metrics["http.client.request.duration"])
	operations := b.metrics["db.client.operation.duration"]
	require.Equal(t, spans["GET"], operations["sql.conn.query"])
	require.Equal(t, spans["POST"]+spans["worker"]+1, operations["sql.conn.exec"], "and the one that makes the table")

	require.Equal(t, map[string]uint64{
		"client": spans["client"], "server": spans["server"], "sql": spans["sql"], "worker": spans["worker"],
	}, b.metrics["spangate.spans.started"])
	require.NotZero(t, b.metrics["spangate.spans.withheld"]["sql"])
}
