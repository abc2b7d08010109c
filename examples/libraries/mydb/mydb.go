// SPDX-License-Identifier: Apache-2.0

// Package mydb stands for a database client whose spans are in groups.
package mydb

import (
	"cmp"
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

const (
	BitQuery spangate.Mask = 1 << 0
	BitTx    spangate.Mask = 1 << 1
	// 1 << 2 was mydb.pool until v1.4. A bit is never used again.
)

// Spans names the groups.
var Spans = spangate.MustCatalog("mydb", []spangate.Group{
	{Name: "mydb.query", Bit: BitQuery, Doc: "one query, with its text"},
	{Name: "mydb.tx", Bit: BitTx, Doc: "one transaction"},
}, []spangate.Preset{
	{Name: "default", Mask: BitTx},
	{Name: "mydb.sql", Mask: BitQuery, Doc: "what mydb.query was called until v1.3"},
	{Name: "mydb.pool", Doc: "retired in v1.4"},
})

var gate = spangate.NewGate(Spans.All()) // all on, until it is registered

// RegisterSpans lets r turn the groups of Spans on and off.
func RegisterSpans(r *registry.Registry) error { return r.Register(Spans, gate) }

// DB is a connection to a database.
type DB struct {
	gate   *spangate.Gate
	tracer trace.Tracer
}

// Options are the options of Open. The zero value is right for most programs.
type Options struct {
	// TracerProvider is OpenTelemetry's global one if it is nil.
	TracerProvider trace.TracerProvider
	// Gate has the groups of Spans; nil means the gate that RegisterSpans registers.
	Gate *spangate.Gate
}

// Open opens a database.
func Open(o Options) *DB {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	return &DB{cmp.Or(o.Gate, gate), o.TracerProvider.Tracer("example.com/mydb")}
}

// Query runs one query.
func (db *DB) Query(ctx context.Context, text string) {
	if db.gate.On(BitQuery) {
		var span trace.Span
		ctx, span = db.tracer.Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
		defer span.End()
	}
	db.send(ctx, text)
}

func (db *DB) send(context.Context, string) {}

// SpansOf names the groups of one instance, which then has a Gate of its own: mydb.orders.query.
// The names of Spans select the groups of every instance.
func SpansOf(instance string) (*spangate.Catalog, error) {
	query, tx := "mydb."+instance+".query", "mydb."+instance+".tx"
	return spangate.NewCatalog("mydb."+instance, []spangate.Group{
		{Name: query, Bit: BitQuery},
		{Name: tx, Bit: BitTx},
	}, []spangate.Preset{
		{Name: "default", Mask: BitTx},
		{Name: "mydb.query", Mask: BitQuery},
		{Name: "mydb.tx", Mask: BitTx},
	})
}
