// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// above is a span that panics in every method but SpanContext.
type above struct{ trace.Span }

func (above) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
}

// Every method of trace.Span, those of later versions too, is called on an inert span. A method
// other than SpanContext that reached the span above would panic.
func TestInertSpanHasEveryMethodOfASpan(t *testing.T) {
	p, err := NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate))
	require.NoError(t, err)
	s := inert{p.origin, above{}}
	span := trace.Span(&s)

	methods := reflect.TypeFor[trace.Span]()
	require.Greater(t, methods.NumMethod(), 10)
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if !m.IsExported() {
			continue // of the types that OpenTelemetry makes implementations embed
		}
		f := reflect.ValueOf(span).MethodByName(m.Name)
		in := make([]reflect.Value, f.Type().NumIn())
		for i := range in {
			in[i] = reflect.Zero(f.Type().In(i))
		}
		var out []reflect.Value
		require.NotPanics(t, func() {
			if f.Type().IsVariadic() {
				out = f.CallSlice(in)
			} else {
				out = f.Call(in)
			}
		}, m.Name)
		switch m.Name {
		case "SpanContext":
			assert.Equal(t, above{}.SpanContext(), out[0].Interface())
		case "TracerProvider":
			assert.Same(t, p, out[0].Interface())
		case "IsRecording":
			assert.Equal(t, false, out[0].Interface())
		default:
			assert.Empty(t, out, "%s has a result; add what an inert span must return", m.Name)
		}
	}
	assert.Equal(t, noop.Span{}, s.Span, "methods that are not written out are no-ops")
}

// Otherwise the chain of inert spans would grow with every site of alternating providers.
func TestInertSpansOfTwoProvidersDoNotChain(t *testing.T) {
	ctx := trace.ContextWithSpan(t.Context(), above{})
	providers := [2]*TracerProvider{}
	for i := range providers {
		p, err := NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate))
		require.NoError(t, err)
		providers[i] = p.Group(1)
	}
	for i := range 4 {
		var s trace.Span
		ctx, s = providers[i%2].Tracer("t").Start(ctx, "off")
		require.IsType(t, (*inert)(nil), s)
		assert.Equal(t, trace.Span(above{}), s.(*inert).above)
	}
}

func TestSpanKeyIsTheOneThatOpenTelemetryUses(t *testing.T) {
	require.NotNil(t, spanKey)
	ctx := trace.ContextWithSpan(t.Context(), noSpan)
	assert.Equal(t, noSpan, ctx.Value(spanKey))
}
