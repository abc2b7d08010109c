// SPDX-License-Identifier: Apache-2.0

package libraries

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// recording is everything that a library and the program around it exported in one run.
type recording struct {
	parent         trace.SpanContext // above the program's span
	spans          tracetest.SpanStubs
	logs           []sdklog.Record
	measurements   []string
	programRecords bool
}

// record runs the program with the library that open sets up. A wrap that is not nil puts the
// SDK's provider behind a gate.
func record(t *testing.T, wrap func(trace.TracerProvider) trace.TracerProvider, parent trace.SpanContext,
	open func(*testing.T, func(context.Context)) func(context.Context) error,
) *recording {
	t.Helper()
	s := newSDK(t, wrap)
	r := &recording{parent: parent}
	skipped := false
	ok := t.Run("call", func(t *testing.T) { // closes the library when it returns
		defer func() { skipped = t.Skipped() }()
		call := open(t, s.inner)
		var err error
		r.programRecords, err = runProgram(trace.ContextWithRemoteSpanContext(t.Context(), parent), call)
		require.NoError(t, err)
	})
	require.True(t, ok)
	if skipped {
		t.SkipNow()
	}
	r.spans, r.logs, r.measurements = s.ended(t), s.logs.records, s.measured(t)
	return r
}

// sdk is OpenTelemetry's SDK for all three signals, in memory.
type sdk struct {
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
	logs   memory
	log    *slog.Logger
}

func newSDK(t *testing.T, wrap func(trace.TracerProvider) trace.TracerProvider) *sdk {
	t.Helper()
	s := &sdk{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(&s.logs)))
	s.log = otelslog.NewLogger("inner", otelslog.WithLoggerProvider(loggers))
	t.Cleanup(func() {
		ctx := context.Background()
		assert.NoError(t, tracers.Shutdown(ctx))
		assert.NoError(t, meters.Shutdown(ctx))
		assert.NoError(t, loggers.Shutdown(ctx))
	})
	otel.SetMeterProvider(meters)
	otel.SetTracerProvider(tracers)
	if wrap != nil {
		otel.SetTracerProvider(wrap(tracers))
	}
	return s
}

// inner is the callee: it starts a span and writes a log record.
func (s *sdk) inner(ctx context.Context) {
	ctx, span := otel.Tracer("inner").Start(ctx, "inner")
	defer span.End()
	s.log.InfoContext(ctx, "inner")
}

// ended returns the spans of a library that is closed. Every span that started must have ended
// once.
func (s *sdk) ended(t *testing.T) tracetest.SpanStubs {
	t.Helper()
	// A transport may end its span after the call, when it takes the connection back.
	for limit := time.Now().Add(5 * time.Second); len(s.spans.Ended()) < len(s.spans.Started()) && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	require.ElementsMatch(t, idents(s.spans.Started()), idents(s.spans.Ended()), "started and ended")
	return tracetest.SpanStubsFromReadOnlySpans(s.spans.Ended())
}

// idents returns the name and ID of each span.
func idents[S sdktrace.ReadOnlySpan](spans []S) (idents []string) {
	for _, s := range spans {
		idents = append(idents, fmt.Sprint(s.Name(), " ", s.SpanContext().SpanID()))
	}
	return idents
}

// node is a span, or a log record as a child of its span.
type node struct {
	id, parent trace.SpanID
	trace      trace.TraceID
	group      spangate.Mask // empty for a log record, which has no group
	text       string
}

func (r *recording) nodes() (nodes []node) {
	for _, s := range r.spans {
		nodes = append(nodes, node{
			id: s.SpanContext.SpanID(), parent: s.Parent.SpanID(), trace: s.SpanContext.TraceID(),
			group: groupOf(s), text: describe(s),
		})
	}
	for _, l := range r.logs {
		nodes = append(nodes, node{parent: l.SpanID(), trace: l.TraceID(), text: "log record"})
	}
	return nodes
}

func groupOf(s tracetest.SpanStub) spangate.Mask {
	switch {
	case s.Name == "program":
		return program
	case s.Name == "inner":
		return inner
	case s.SpanKind == trace.SpanKindServer:
		return server
	default:
		return client
	}
}

// describe returns the parts of a span that are the same in every run. It leaves out the values of
// attributes, which may be ports and addresses.
func describe(s tracetest.SpanStub) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v %v %q %v", s.Name, s.SpanKind, s.Status.Code, s.Status.Description, keys(s.Attributes))
	for _, e := range s.Events {
		fmt.Fprintf(&b, " %s%v", e.Name, keys(e.Attributes))
	}
	return b.String()
}

func keys(attributes []attribute.KeyValue) (keys []string) {
	for _, a := range attributes {
		keys = append(keys, string(a.Key))
	}
	slices.Sort(keys)
	return keys
}

// shape removes the spans of the groups that are not in on, and returns a line for each other span
// and each log record, with the spans above it, and the number of traces. A child of a removed
// span gets the nearest span above that is left as its parent, else the remote parent, else it is
// the root of a trace.
func (r *recording) shape(on spangate.Mask) (lines []string, traces int) {
	byID := map[trace.SpanID]node{}
	nodes := r.nodes()
	for _, n := range nodes {
		byID[n.id] = n
	}
	tops := map[trace.SpanID]bool{}
	for _, n := range nodes {
		if n.group != 0 && !on.HasAny(n.group) {
			continue
		}
		line, top, isSpan := n.text, n.id, n.group != 0
		for n.parent.IsValid() && n.parent != r.parent.SpanID() {
			above, ok := byID[n.parent]
			if !ok || above.trace != n.trace {
				line = "ORPHAN > " + line
				break
			}
			n = above
			if on.HasAny(n.group) {
				line, top = n.text+" > "+line, n.id
			}
		}
		if n.parent.IsValid() && n.parent == r.parent.SpanID() {
			line, top = "remote > "+line, n.parent
			if n.trace != r.parent.TraceID() {
				line = "ORPHAN > " + line
			}
		}
		if isSpan {
			tops[top] = true
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, len(tops)
}

func (r *recording) groups() (groups []spangate.Mask) {
	for _, n := range r.nodes() {
		groups = append(groups, n.group)
	}
	return groups
}

func (r *recording) traces() map[trace.TraceID]bool {
	traces := map[trace.TraceID]bool{}
	for _, s := range r.spans {
		traces[s.SpanContext.TraceID()] = true
	}
	return traces
}

func (r *recording) has(sc trace.SpanContext) bool {
	return slices.ContainsFunc(r.spans, func(s tracetest.SpanStub) bool {
		return s.SpanContext.SpanID() == sc.SpanID() && s.SpanContext.TraceID() == sc.TraceID()
	})
}

// measured returns a line for each series: its name, attributes and count. The values of gauges
// and times differ from run to run, so they are left out.
func (s *sdk) measured(t *testing.T) (lines []string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, s.reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(a attribute.Set, value any) {
				lines = append(lines, fmt.Sprint(scope.Scope.Name, " ", m.Name, " ", series(a), " ", value))
			}
			sum := func(a attribute.Set, value any) {
				if m.Unit == "ns" || m.Unit == "ms" || m.Unit == "s" {
					value = "time"
				}
				add(a, value)
			}
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Count)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					sum(p.Attributes, p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					sum(p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, "gauge")
				}
			default:
				require.Fail(t, "an instrument that is not compared", "%s: %T", m.Name, d)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// series returns the attributes of a series without the port, which differs from run to run.
func series(a attribute.Set) string {
	rest, _ := a.Filter(func(kv attribute.KeyValue) bool { return kv.Key != "server.port" })
	return rest.Encoded(attribute.DefaultEncoder())
}

// memory is a log exporter that keeps the records.
type memory struct {
	mu      sync.Mutex
	records []sdklog.Record
}

func (m *memory) Export(_ context.Context, records []sdklog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		m.records = append(m.records, r.Clone())
	}
	return nil
}

func (*memory) Shutdown(context.Context) error   { return nil }
func (*memory) ForceFlush(context.Context) error { return nil }
