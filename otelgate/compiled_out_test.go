// SPDX-License-Identifier: Apache-2.0

//go:build spangate_off

package otelgate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
)

func TestEveryRuledScopeIsOffWhenSitesAreCompiledOut(t *testing.T) {
	p, err := NewTracerProvider(noop.NewTracerProvider(), spangate.NewGate(spangate.PresetAll),
		HTTPRules(spangate.BitServer, spangate.BitHTTPClient))
	require.NoError(t, err)
	_, s := p.Group(spangate.BitRollout).Tracer("mine").Start(t.Context(), "s")
	assert.IsType(t, (*inert)(nil), s)
	_, s = p.Tracer("no rule").Start(t.Context(), "s")
	assert.IsType(t, (*otherSpan)(nil), s)
}

func TestNothingTurnsASpanOnWhenSitesAreCompiledOut(t *testing.T) {
	gate := spangate.NewGate(1)
	gate.SetReach(1)
	exported := tracetest.NewInMemoryExporter()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported))
	asked := 0
	p, err := NewTracerProvider(sdk, gate, Rule{Group: 1}, OneTrace(), Overrides(func(context.Context, trace.SpanContext) *spangate.Override {
		asked++
		return nil
	}))
	require.NoError(t, err)
	ctx := spangate.ContextWithOverride(t.Context(), spangate.NewOverride(spangate.OverrideName{}, func(*spangate.Gate, spangate.Mask) bool { return true }))
	for _, ctx := range []context.Context{ctx, t.Context()} {
		_, s := p.Tracer("t").Start(ctx, "s")
		assert.IsType(t, (*inert)(nil), s)
		assert.Error(t, Do(ctx, p.Tracer("t"), "s", func(context.Context, trace.Span) error { return assert.AnError }, OnError()))
	}
	assert.False(t, p.Tracer("t").(*gatedTracer).Enabled(ctx))
	assert.Zero(t, asked)
	assert.Empty(t, exported.GetSpans())
}

func TestCompiledOutLibraryDoesNotChangeItsCallersSpan(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported))
	p, err := NewTracerProvider(sdk, spangate.NewGate(1), Rule{Scope: "lib", Group: 1})
	require.NoError(t, err)
	ctx, outer := p.Tracer("mine").Start(t.Context(), "outer")
	c, _ := p.Tracer("lib").Start(context.WithValue(ctx, spanKey, trace.SpanFromContext(ctx)), "call")
	s := trace.SpanFromContext(c)
	s.SetName("renamed")
	s.SetStatus(codes.Error, "failed")
	s.SetAttributes(attribute.Bool("library", true))
	s.AddEvent("event")
	s.End()
	assert.True(t, outer.IsRecording())
	outer.End()
	require.Len(t, exported.GetSpans(), 1)
	stub := exported.GetSpans()[0]
	assert.Equal(t, "outer", stub.Name)
	assert.Equal(t, codes.Unset, stub.Status.Code)
	assert.Empty(t, stub.Attributes)
	assert.Empty(t, stub.Events)
}
