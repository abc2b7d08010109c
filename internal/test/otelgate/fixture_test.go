// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

func TestMain(m *testing.M) {
	if !spangate.Compiled {
		fmt.Println("sites are compiled out, so every gated span is off: nothing to test with the SDK")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fixture is an SDK that exports into memory, behind a gate.
type fixture struct {
	*otelgate.TracerProvider
	sdk       *sdktrace.TracerProvider
	gate      *spangate.Gate
	exported  *tracetest.InMemoryExporter
	processor sdktrace.SpanProcessor // that exports
}

func newFixture(t *testing.T, on spangate.Mask, opts ...otelgate.Option) *fixture {
	t.Helper()
	f := &fixture{gate: spangate.NewGate(on), exported: tracetest.NewInMemoryExporter()}
	f.processor = sdktrace.NewSimpleSpanProcessor(f.exported)
	f.sdk = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(f.processor))
	p, err := otelgate.NewTracerProvider(f.sdk, f.gate, opts...)
	require.NoError(t, err)
	f.TracerProvider = p
	t.Cleanup(func() { assert.NoError(t, f.sdk.Shutdown(context.Background())) })
	return f
}

// tracerOf returns a tracer whose spans are all of group g.
func (f *fixture) tracerOf(g spangate.Mask) trace.Tracer { return f.Group(g).Tracer("test") }

// spans returns the exported spans by name.
func (f *fixture) spans() map[string]tracetest.SpanStub {
	spans := map[string]tracetest.SpanStub{}
	for _, s := range f.exported.GetSpans() {
		spans[s.Name] = s
	}
	return spans
}

// remote returns the context of a span in another process.
func remote(t *testing.T) trace.SpanContext {
	t.Helper()
	state, err := trace.ParseTraceState("vendor=kept")
	require.NoError(t, err)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 2, 3},
		SpanID:     trace.SpanID{4, 5, 6},
		TraceFlags: trace.FlagsSampled,
		TraceState: state,
		Remote:     true,
	})
}
