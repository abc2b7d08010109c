// SPDX-License-Identifier: Apache-2.0

// Package operation has the operations whose instructions and allocations are counted:
// spangate's own, and those of OpenTelemetry that its budgets compare them with.
//
// They are written as loops, so that no call stands between the counting and the operation.
// What a loop adds, two or three instructions a turn, is counted with it on both sides.
// OpenTelemetry's are loops over the same interfaces.
package operation

import (
	"context"
	"fmt"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// Operation is one of them.
type Operation struct {
	Name string
	// Prepare returns a function that does the operation n times. What Prepare itself does
	// is not counted.
	Prepare func() (run func(n int))
}

// The names that budgets refer to.
const (
	On                = "On"
	Store             = "Store"
	Parse             = "Parse"
	OffStart          = "off Start, no parent"
	OffStartGated     = "off Start, gated parent"
	OffStartDeeper    = "off Start, a value beneath a gated parent"
	OffStartSDK       = "off Start, SDK parent"
	OffStartRemote    = "off Start, remote parent"
	OffDo             = "off Do, no parent"
	OffDoGated        = "off Do, gated parent"
	OnSpan            = "Start and End, on"
	OnSpanUnder       = "Start and End, on, under a span"
	OnSpanDeeper      = "Start and End, on, a value beneath a span"
	OnValue           = "a value beneath ten spans that are on"
	KnownTracer       = "Tracer of a known scope"
	NoopStart         = "trace/noop Start, no parent"
	NoopStartUnderSDK = "trace/noop Start, SDK parent"
	SDKSpan           = "Start and End, bare SDK"
	SDKSpanUnder      = "Start and End, bare SDK, under a span"
	SDKSpanDeeper     = "Start and End, bare SDK, a value beneath a span"
	SDKValue          = "a value beneath ten spans of the bare SDK"
	SDKTracer         = "Tracer of a known scope, bare SDK"
)

// All has every operation.
var All = []Operation{
	{On, on},
	{Store, store},
	{Parse, parse},
	{OffStart, func() func(int) { return start(gated(), context.Background()) }},
	{OffStartGated, func() func(int) { return start(gated(), gatedParent()) }},
	{OffStartDeeper, func() func(int) { return start(gated(), deeper(gatedParent())) }},
	{OffStartSDK, func() func(int) { return start(gated(), sdkParent()) }},
	{OffStartRemote, func() func(int) { return start(gated(), remoteParent()) }},
	{OffDo, func() func(int) { return do(gated(), context.Background()) }},
	{OffDoGated, func() func(int) { return do(gated(), gatedParent()) }},
	{OnSpan, onSpan(context.Background)},
	{OnSpanUnder, onSpan(gatedParent)},
	{OnSpanDeeper, onSpan(func() context.Context { return deeper(gatedParent()) })},
	{OnValue, func() func(int) {
		gate.Enable(spangate.BitRollout)
		return value(gated())
	}},
	{KnownTracer, func() func(int) { return tracer(gatedProvider()) }},
	{NoopStart, func() func(int) { return start(noop.Tracer{}, context.Background()) }},
	{NoopStartUnderSDK, func() func(int) { return start(noop.Tracer{}, sdkParent()) }},
	{SDKSpan, func() func(int) { return startEnd(sdk(), context.Background()) }},
	{SDKSpanUnder, func() func(int) { return startEnd(sdk(), sdkParent()) }},
	{SDKSpanDeeper, func() func(int) { return startEnd(sdk(), deeper(sdkParent())) }},
	{SDKValue, func() func(int) { return value(sdk()) }},
	{SDKTracer, func() func(int) { return tracer(sdkProvider()) }},
}

// ByName returns the operation of that name.
func ByName(name string) (Operation, error) {
	for _, o := range All {
		if o.Name == name {
			return o, nil
		}
	}
	return Operation{}, fmt.Errorf("no operation is called %q", name)
}

var gate spangate.Gate // of gatedProvider

// What an operation returns goes here, so that it can't be left out. Nobody reads it.
var (
	Passed  int
	Mask    spangate.Mask
	Err     error
	Started trace.Span
	Tracer  trace.Tracer
	Value   any
)

func on() func(int) {
	return func(n int) {
		for range n {
			if gate.On(spangate.BitRollout) {
				Passed++
			}
		}
	}
}

func store() func(int) {
	var g spangate.Gate
	return func(n int) {
		for i := range n {
			g.Store(spangate.Mask(i))
		}
	}
}

func parse() func(int) {
	return func(n int) {
		for range n {
			Mask, Err = spangate.Parse("default,sandbox")
		}
	}
}

func start(t trace.Tracer, ctx context.Context) func(int) {
	return func(n int) {
		for range n {
			_, Started = t.Start(ctx, "site")
		}
	}
}

func do(t trace.Tracer, ctx context.Context) func(int) {
	work := func(context.Context, trace.Span) error { return nil }
	return func(n int) {
		for range n {
			Err = otelgate.Do(ctx, t, "site", work)
		}
	}
}

func onSpan(parent func() context.Context) func() func(int) {
	return func() func(int) {
		ctx := parent()
		gate.Enable(spangate.BitRollout)
		return startEnd(gated(), ctx)
	}
}

func startEnd(t trace.Tracer, ctx context.Context) func(int) {
	return func(n int) {
		for range n {
			_, span := t.Start(ctx, "site")
			span.End()
		}
	}
}

// key is that of a value which a program keeps in its context.
type key struct{}

func deeper(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) }

// value looks for a value above ten nested spans of t.
func value(t trace.Tracer) func(int) {
	ctx := deeper(context.Background())
	for range 10 {
		ctx, Started = t.Start(ctx, "site")
	}
	return func(n int) {
		for range n {
			Value = ctx.Value(key{})
		}
	}
}

func tracer(p trace.TracerProvider) func(int) {
	return func(n int) {
		for range n {
			Tracer = p.Tracer("bench")
		}
	}
}

// gated returns a tracer of group rollout, over the SDK recording.
func gated() trace.Tracer { return gatedProvider().Tracer("bench") }

// gatedProvider is one for all, since only what a gated provider itself started counts as
// gated under it.
var gatedProvider = sync.OnceValue(func() trace.TracerProvider {
	p, err := otelgate.NewTracerProvider(sdkProvider(), &gate, otelgate.Rule{Group: spangate.BitRollout})
	if err != nil {
		panic(err)
	}
	return p
})

// gatedParent returns a context with a span in it that is on through the gate.
func gatedParent() context.Context {
	defer gate.Store(gate.Enable(spangate.BitRollout))
	ctx, _ := gated().Start(context.Background(), "parent")
	return ctx
}

func sdk() trace.Tracer { return sdkProvider().Tracer("bench") }

// sdkProvider returns the SDK as a program has it that exports, less what exporting costs.
func sdkProvider() trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}))
}

// sdkParent returns a context with a recording span of the SDK in it.
func sdkParent() context.Context {
	ctx, _ := sdk().Start(context.Background(), "parent")
	return ctx
}

// remoteParent returns a context as propagation leaves it for a sampled incoming request.
func remoteParent() context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
}

// discard is a span processor that drops what it is given.
type discard struct{}

var _ sdktrace.SpanProcessor = discard{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }
