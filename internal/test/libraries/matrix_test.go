// SPDX-License-Identifier: Apache-2.0

package libraries

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// The groups of the tests' catalog. Their bits are not Gym's, so that a bit of Gym hard-coded in
// otelgate would fail a test.
const (
	program spangate.Mask = 1 << 63 // the span that the program starts around the call
	client  spangate.Mask = 1 << 17 // the library's client spans
	server  spangate.Mask = 1 << 40 // the library's server spans
	inner   spangate.Mask = 1 << 5  // the span that a handler or another callee starts
)

var catalog = spangate.MustCatalog("matrix", []spangate.Group{
	{Name: "program", Bit: program},
	{Name: "client", Bit: client},
	{Name: "server", Bit: server},
	{Name: "inner", Bit: inner},
}, nil)

// library is a real library, used as its own documentation says, with the global providers.
type library struct {
	name    string
	modules []string       // of the instrumentation, and of what it instruments
	run     string         // what call does, for the table
	groups  spangate.Mask  // of its spans
	rules   otelgate.Rules // for its own spans
	// needsRecordingParent means that the library starts no span beneath one that does not record.
	needsRecordingParent bool
	// open sets the library up and returns the call to test, whose callee calls inner. It closes
	// what it opens with t.Cleanup.
	open func(t *testing.T, inner func(context.Context)) (call func(context.Context) error)
}

// stopServers has functions that stop the servers of the tests and remove their files.
var stopServers []func()

func TestMain(m *testing.M) {
	if !spangate.Compiled {
		fmt.Println("skipped: with sites compiled out every gated span is off, so there is one mask")
		os.Exit(0)
	}
	otel.SetTextMapPropagator(propagation.TraceContext{})
	code := m.Run()
	for _, stop := range slices.Backward(stopServers) {
		stop()
	}
	// sarama's metrics have one goroutine for the process, which nothing stops.
	ticker := goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")
	if err := goleak.Find(ticker); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestNoMaskBreaksATrace(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			for _, parent := range []trace.SpanContext{{}, remote} {
				bare := record(t, nil, parent, l.open)
				for group := range l.groups.Bits() {
					require.Contains(t, bare.groups(), group, "the library starts no span of group %s", catalog.Format(group))
				}
				for mask := range masks(l.groups) {
					t.Run(caseName(mask, parent), func(t *testing.T) {
						gated := record(t, withMask(t, mask, l.rules), parent, l.open)
						l.compare(t, bare, gated, mask)
					})
				}
			}
		})
	}
}

// compare asserts that gated, recorded with the groups of mask on, follows from bare.
func (l *library) compare(t *testing.T, bare, gated *recording, mask spangate.Mask) {
	on := mask
	if l.needsRecordingParent && !mask.HasAny(program) {
		on = on.Without(client)
	}
	want, traces := bare.shape(on)
	got, _ := gated.shape(catalog.All())
	assert.Equal(t, want, got, "spans and log records")
	assert.Len(t, gated.traces(), traces, "traces")
	assert.Equal(t, mask.HasAny(program), gated.programRecords, "the program's span records after the call")
	assert.Equal(t, bare.measurements, gated.measurements, "metrics")
	for _, s := range gated.spans {
		for _, link := range s.Links {
			assert.True(t, link.SpanContext.Equal(remote) || gated.has(link.SpanContext), "%s links to a span that was not exported", s.Name)
		}
	}
}

// remote is the context of a span in another process.
var remote = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID:    trace.TraceID{1, 2, 3},
	SpanID:     trace.SpanID{4, 5, 6},
	TraceFlags: trace.FlagsSampled,
	Remote:     true,
})

// masks yields every mask over the groups of g.
func masks(g spangate.Mask) iter.Seq[spangate.Mask] {
	return func(yield func(spangate.Mask) bool) {
		for m := g; yield(m) && m != 0; {
			m = (m - 1) & g
		}
	}
}

func caseName(m spangate.Mask, parent trace.SpanContext) string {
	name := strings.ReplaceAll(catalog.Format(m), ",", "+")
	if m == 0 {
		name = "nothing"
	}
	if parent.IsValid() {
		name += " under a remote parent"
	}
	return name
}

// withMask returns a function that puts a provider behind a gate with the groups of mask on.
func withMask(t *testing.T, mask spangate.Mask, rules otelgate.Rules) func(trace.TracerProvider) trace.TracerProvider {
	return func(base trace.TracerProvider) trace.TracerProvider {
		return gatedProvider(t, base, spangate.NewGate(mask), rules)
	}
}

func gatedProvider(t *testing.T, base trace.TracerProvider, g *spangate.Gate, rules otelgate.Rules) trace.TracerProvider {
	p, err := otelgate.NewTracerProvider(base, g, otelgate.Names(catalog), rules,
		otelgate.Rule{Scope: "program", Group: program}, otelgate.Rule{Scope: "inner", Group: inner})
	require.NoError(t, err)
	return p
}

// runProgram makes the call of the library in a span of the program. It reports whether that
// span still records after the call.
func runProgram(ctx context.Context, call func(context.Context) error) (records bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ctx, span := otel.Tracer("program").Start(ctx, "program", trace.WithAttributes(attribute.Bool("before", true)))
	defer span.End()
	span.AddEvent("before")
	err = call(ctx)
	records = span.IsRecording()
	span.SetAttributes(attribute.Bool("after", true))
	span.AddEvent("after")
	return records, err
}
