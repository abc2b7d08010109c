// SPDX-License-Identifier: Apache-2.0

package otelsdk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelsdk"
)

// A service that keeps one trace in a hundred records the traces with an override too.
func ExampleSampleOverridden() {
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(
		sdktrace.WithSyncer(exporter),
		sdktrace.WithSampler(otelsdk.SampleOverridden(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)))), // 0.01 in reality
	).Tracer("example")

	_, span := tracer.Start(context.Background(), "ordinary")
	span.End()

	// In a service, the override comes from package control.
	override := spangate.NewOverride(spangate.OverrideName{Spec: "all", ID: "one"}, func(*spangate.Gate, spangate.Mask) bool { return true })
	_, span = tracer.Start(spangate.ContextWithOverride(context.Background(), override), "in detail")
	span.End()

	for _, s := range exporter.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output: in detail
}

// override is in effect or not, and counts how often it is asked for a sample.
type override struct {
	inEffect bool
	asked    int
}

func (o *override) context(ctx context.Context) context.Context {
	return spangate.ContextWithOverride(ctx, spangate.NewOverride(spangate.OverrideName{ID: "o"}, func(g *spangate.Gate, m spangate.Mask) bool {
		if g != nil || m != 0 {
			panic("a sampler asks for no groups")
		}
		o.asked++
		return o.inEffect
	}))
}

// above returns a context with a span above, which is sampled or not, and has this tracestate.
func above(t testing.TB, remote, sampled bool, state string) context.Context {
	parsed, err := trace.ParseTraceState(state)
	require.NoError(t, err)
	return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), TraceState: parsed, Remote: remote,
	}))
}

// recordOnly records every span and samples none.
type recordOnly struct{ sdktrace.Sampler }

func (r recordOnly) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly, Attributes: []attribute.KeyValue{attribute.String("sampler", "recordOnly")}}
}

var bases = map[string]sdktrace.Sampler{
	"AlwaysOff":              sdktrace.NeverSample(),
	"AlwaysOn":               sdktrace.AlwaysSample(),
	"ParentBased(AlwaysOff)": sdktrace.ParentBased(sdktrace.NeverSample()),
	"ParentBased(AlwaysOn)":  sdktrace.ParentBased(sdktrace.AlwaysSample()),
	"ratio 0":                sdktrace.TraceIDRatioBased(0),
	"ratio":                  sdktrace.TraceIDRatioBased(0.5),
	"recordOnly":             recordOnly{},
}

func TestSpansWithAnOverrideInEffectAreSampledUnderEveryBaseAndParent(t *testing.T) {
	parents := map[string]context.Context{
		"none":                t.Context(),
		"remote, sampled":     above(t, true, true, "a=b"),
		"remote, not sampled": above(t, true, false, "a=b"),
		"local, sampled":      above(t, false, true, "a=b"),
		"local, not sampled":  above(t, false, false, "a=b"),
		"a trace ID alone":    trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}.WithTraceID(trace.TraceID{1})),
	}
	for base, sampler := range bases {
		for name, parent := range parents {
			for _, id := range []trace.TraceID{{1}, {8: 0xff, 15: 1}} {
				p := sdktrace.SamplingParameters{ParentContext: parent, TraceID: id, Name: "n"}
				alone := sampler.ShouldSample(p)
				wrapped := otelsdk.SampleOverridden(sampler)
				assert.Equal(t, alone, wrapped.ShouldSample(p), "%s, %s: without an override", base, name)

				ended := new(override)
				p.ParentContext = ended.context(parent)
				assert.Equal(t, alone, wrapped.ShouldSample(p), "%s, %s: with one that is not in effect", base, name)

				o := &override{inEffect: true}
				p.ParentContext = o.context(parent)
				want := alone
				want.Decision = sdktrace.RecordAndSample
				assert.Equal(t, want, wrapped.ShouldSample(p), "%s, %s: with an override", base, name)
				wantAsked := 1
				if alone.Decision == sdktrace.RecordAndSample {
					wantAsked = 0
				}
				assert.Equal(t, wantAsked, o.asked, "%s, %s: a span that base samples without a threshold is not counted", base, name)
			}
		}
	}
}

func TestThresholdIsRemovedFromTracesWithAnOverride(t *testing.T) {
	long := strings.Repeat("x", 250)
	full := make([]string, 32)
	for i := range full {
		full[i] = fmt.Sprintf("k%d=v", i)
	}
	full[31] = "ot=rv:00000000000001;th:8"
	for state, want := range map[string]string{
		"":                                   "",
		"a=b":                                "a=b",
		"ot=th:fd70a":                        "",
		"a=b,ot=th:fd70a,c=d":                "a=b,c=d",
		"ot=th:fd70a;rv:00000000000001":      "ot=rv:00000000000001",
		"a=b,ot=rv:00000000000001;th:0;k1:2": "ot=rv:00000000000001;k1:2,a=b",
		"a=b,ot=rv:00000000000001":           "a=b,ot=rv:00000000000001", // and in its place
		"a=b,ot=xth:1":                       "ot=xth:1,a=b",
		"ot=th:":                             "",
		"ot=th:0;":                           "",
		"ot=th:1;th:2;a:b":                   "ot=a:b",
		"ot=a:b ;th:1":                       "",
		"other@ot=th:1":                      "other@ot=th:1",
		"ot=" + long + ";th:1":               "ot=" + long,
		strings.Join(full, ","):              "ot=rv:00000000000001," + strings.Join(full[:31], ","),
	} {
		for _, base := range []string{"AlwaysOn", "AlwaysOff"} {
			p := sdktrace.SamplingParameters{ParentContext: above(t, true, true, state)}
			before := bases[base].ShouldSample(p).Tracestate.String()
			p.ParentContext = (&override{inEffect: true}).context(p.ParentContext)
			assert.Equal(t, want, otelsdk.SampleOverridden(bases[base]).ShouldSample(p).Tracestate.String(), "%s of %q", base, state)

			p.ParentContext = (&override{}).context(above(t, true, true, state))
			after := otelsdk.SampleOverridden(bases[base]).ShouldSample(p).Tracestate.String()
			assert.Equal(t, before, after, "an override that is not in effect has chosen no span")
		}
	}
}

// The override ends while the root is open. The later spans of the trace follow the parent's sampled
// flag under ParentBased, in this process and in one that has no sampler of this package.
func TestTraceStaysSampledAfterItsOverrideHasEnded(t *testing.T) {
	for base, rest := range map[string]int{"ParentBased(AlwaysOff)": 2, "AlwaysOff": 0} {
		o := &override{inEffect: true}
		exporter := tracetest.NewInMemoryExporter()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(otelsdk.SampleOverridden(bases[base]))).Tracer("t")
		downstream := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(bases[base])).Tracer("t")

		ctx, root := tracer.Start(o.context(t.Context()), "root")
		require.True(t, root.SpanContext().IsSampled(), base)
		o.inEffect = false
		childCtx, child := tracer.Start(ctx, "child")
		_, remote := downstream.Start(trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContextFromContext(childCtx)), "remote")
		remote.End()
		child.End()
		root.End()
		spans := exporter.GetSpans()
		require.Len(t, spans, 1+rest, base)
		for _, s := range spans {
			assert.Equal(t, root.SpanContext().TraceID(), s.SpanContext.TraceID())
		}

		_, next := tracer.Start(o.context(t.Context()), "the next trace")
		assert.False(t, next.IsRecording(), base)
	}
}

func TestSampleOverriddenDescribesItsBase(t *testing.T) {
	assert.Equal(t, "SampleOverridden{base:AlwaysOffSampler}", otelsdk.SampleOverridden(sdktrace.NeverSample()).Description())
	byDefault := sdktrace.ParentBased(sdktrace.AlwaysSample())
	assert.Equal(t, "SampleOverridden{base:"+byDefault.Description()+"}", otelsdk.SampleOverridden(nil).Description())
	assert.Equal(t, byDefault.ShouldSample(sdktrace.SamplingParameters{ParentContext: t.Context()}), otelsdk.SampleOverridden(nil).ShouldSample(sdktrace.SamplingParameters{ParentContext: t.Context()}))
}

func TestNilContextHasNoOverride(t *testing.T) {
	assert.Equal(t, sdktrace.Drop, otelsdk.SampleOverridden(sdktrace.NeverSample()).ShouldSample(sdktrace.SamplingParameters{}).Decision)
}
