// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// The scope whose spans are not wanted, and the name of its spans.
const unwantedScope, unwantedSpan = "sql", "SELECT"

// serve is one request of a program of three libraries: the server's span, beneath it a query, and
// beneath that a call and a lookup. The call's library takes its provider from the span in the
// context, as otelhttp does.
func serve(p trace.TracerProvider) {
	ctx, server := p.Tracer("server").Start(context.Background(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
	ctx, query := p.Tracer(unwantedScope).Start(ctx, unwantedSpan, trace.WithSpanKind(trace.SpanKindClient))
	_, call := trace.SpanFromContext(ctx).TracerProvider().Tracer("client").Start(ctx, "GET /price", trace.WithSpanKind(trace.SpanKindClient))
	call.End()
	_, lookup := p.Tracer("cache").Start(ctx, "lookup")
	lookup.End()
	query.End()
	server.End()
}

// alternatives are ways not to have the spans of a library; provider makes each, with the processor that
// exports. exported is how many of the four spans of a request are exported, orphans how many of these have
// a parent that is not, and lost how many spans of the other libraries are not exported.
var alternatives = []struct {
	name                    string
	provider                func(sdktrace.SpanProcessor) trace.TracerProvider
	exported, orphans, lost int
}{
	{"no tracing at all (trace/noop)", func(sdktrace.SpanProcessor) trace.TracerProvider { return noop.NewTracerProvider() }, 0, 0, 3},
	{"everything on, bare SDK", func(p sdktrace.SpanProcessor) trace.TracerProvider { return sdkOf(p, sdkDefault) }, 4, 0, 0},
	{"everything on, behind a gate", func(p sdktrace.SpanProcessor) trace.TracerProvider { return gatedOf(p, spangate.PresetAll) }, 4, 0, 0},
	{"spangate, everything off", func(p sdktrace.SpanProcessor) trace.TracerProvider { return gatedOf(p, 0) }, 0, 0, 3},
	{"spangate, group off", func(p sdktrace.SpanProcessor) trace.TracerProvider {
		return gatedOf(p, spangate.PresetAll.Without(spangate.BitSandbox))
	}, 3, 0, 0},
	{"ratio sampler, a trace that it drops", func(p sdktrace.SpanProcessor) trace.TracerProvider {
		return sdkOf(p, sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)))
	}, 0, 0, 3},
	{"sampler by span name, in ParentBased", func(p sdktrace.SpanProcessor) trace.TracerProvider {
		return sdkOf(p, sdktrace.ParentBased(byName{}, sdktrace.WithLocalParentSampled(byName{})))
	}, 1, 0, 2},
	{"sampler by span name, alone", func(p sdktrace.SpanProcessor) trace.TracerProvider { return sdkOf(p, byName{}) }, 3, 2, 0},
	{"filter before the export", func(p sdktrace.SpanProcessor) trace.TracerProvider { return sdkOf(filter{p}, sdkDefault) }, 3, 2, 0},
	{"no-op tracer for the scope", func(p sdktrace.SpanProcessor) trace.TracerProvider {
		return noopForScope{TracerProvider: sdkOf(p, sdkDefault)}
	}, 2, 0, 1},
}

func sdkOf(p sdktrace.SpanProcessor, sampler sdktrace.Sampler) trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(p))
}

func gatedOf(p sdktrace.SpanProcessor, on spangate.Mask) trace.TracerProvider {
	gated, err := otelgate.NewTracerProvider(sdkOf(p, sdkDefault), spangate.NewGate(on),
		otelgate.Rule{Scope: unwantedScope, Group: spangate.BitSandbox}, otelgate.Rule{Group: spangate.BitServer})
	if err != nil {
		panic(err)
	}
	return gated
}

// byName is a sampler that drops spans by name. A sampler is not told the scope.
type byName struct{}

var _ sdktrace.Sampler = byName{}

func (byName) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Name == unwantedSpan {
		return sdktrace.SamplingResult{Decision: sdktrace.Drop}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (byName) Description() string { return "byName" }

// filter passes on no span of the unwanted scope. The Collector's filter processor does the same in
// another process, after the export.
type filter struct{ sdktrace.SpanProcessor }

func (f filter) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.InstrumentationScope().Name != unwantedScope {
		f.SpanProcessor.OnEnd(s)
	}
}

// noopForScope gives OpenTelemetry's no-op tracer to the unwanted scope, as a TracerConfigurator in
// other languages gives a disabled one.
type noopForScope struct{ trace.TracerProvider }

func (p noopForScope) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if name == unwantedScope {
		return noop.Tracer{}
	}
	return p.TracerProvider.Tracer(name, opts...)
}

func TestShapeOfTheTraceWithEachAlternative(t *testing.T) {
	document, err := os.ReadFile("../docs/alternatives.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alternatives {
		ended := tracetest.NewSpanRecorder()
		serve(a.provider(ended))
		spans := ended.Ended()
		exported, orphans := len(spans), 0
		for _, s := range spans {
			isParent := func(other sdktrace.ReadOnlySpan) bool { return other.SpanContext().SpanID() == s.Parent().SpanID() }
			if s.Parent().IsValid() && !slices.ContainsFunc(spans, isParent) {
				orphans++
			}
		}
		wanted := 0
		for _, s := range spans {
			if s.Name() != unwantedSpan {
				wanted++
			}
		}
		if lost := 3 - wanted; exported != a.exported || orphans != a.orphans || lost != a.lost {
			t.Errorf("%s: %d exported, %d orphans, %d lost; want %d, %d, %d", a.name, exported, orphans, lost, a.exported, a.orphans, a.lost)
		}
		if row := fmt.Sprintf("\n| %s | %d | %d | %d |\n", a.name, a.exported, a.orphans, a.lost); !strings.Contains(string(document), row) {
			t.Errorf("docs/alternatives.md has no row %q", row)
		}
	}
}

// The spans beneath the one that is off are the server's children.
func TestWithoutTheUnwantedSpansTheGateKeepsOneTrace(t *testing.T) {
	ended := tracetest.NewSpanRecorder()
	serve(gatedOf(ended, spangate.PresetAll.Without(spangate.BitSandbox)))
	spans := ended.Ended()
	server := spans[len(spans)-1]
	for _, s := range spans[:len(spans)-1] {
		if got, want := s.Parent().SpanID(), server.SpanContext().SpanID(); got != want {
			t.Errorf("the parent of %s is %s, want that of %s", s.Name(), got, server.Name())
		}
	}
}

// BenchmarkAlternatives measures a request of serve, without the work that the request would do. The
// SDK's processor drops the spans: batching, encoding, sending and storing them is not measured, so what
// a span that is exported costs in all is several times more.
//
// The samplers and the filter here do as little as they can: a comparison of one string.
func BenchmarkAlternatives(b *testing.B) {
	for _, a := range alternatives {
		b.Run(a.name, func(b *testing.B) {
			p := a.provider(discard{})
			measureWarm(b, func(n int) {
				for range n {
					serve(p)
				}
			})
		})
	}
}
