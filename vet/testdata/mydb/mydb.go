// SPDX-License-Identifier: Apache-2.0

// Package mydb is a library with a catalog, a gate and wrappers, which the cases use.
package mydb

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

const (
	BitQuery spangate.Mask = 1 << 0
	BitCache spangate.Mask = 1 << 1
	BitRetry spangate.Mask = 1 << 2
)

var Spans = spangate.MustCatalog("mydb",
	[]spangate.Group{
		{Name: "query", Bit: BitQuery},
		{Name: "cache", Bit: BitCache},
		{Name: "retry", Bit: BitRetry},
	},
	[]spangate.Preset{{Name: "default", Mask: BitQuery | BitRetry}})

var Gate spangate.Gate

var Tracer = otel.Tracer("example.com/app/mydb")

func Register(r *registry.Registry) error { return r.Register(Spans, &Gate) }

// On is a wrapper of On.
func On(m spangate.Mask) bool { return Gate.On(m) }

// QueryOn is a wrapper for one group.
func QueryOn() bool { return Gate.On(BitQuery) }

// Start is a wrapper of Start.
func Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := Tracer.Start(ctx, name, opts...)
	return ctx, span
}

// StartQuery is a wrapper that asks the gate.
func StartQuery(ctx context.Context, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !Gate.On(BitQuery) {
		return ctx, noop.Span{}
	}
	return Start(ctx, "query", opts...)
}

func Query(ctx context.Context) {
	if Gate.On(BitQuery) {
		var span trace.Span
		ctx, span = Tracer.Start(ctx, "query")
		defer span.End()
	}
	_ = ctx
}
