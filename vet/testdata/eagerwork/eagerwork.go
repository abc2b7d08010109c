// SPDX-License-Identifier: Apache-2.0

package eagerwork

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelgate"

	"example.com/app/mydb"
)

func work(context.Context) error { return nil }

func attributesAbove(ctx context.Context, table string, rows int) {
	attrs := []attribute.KeyValue{attribute.String("table", table)} // want `attrs: used only if mydb.Gate.On\(mydb.BitQuery\), but made either way`
	attrs = append(attrs, attribute.Int("rows", rows))
	if mydb.Gate.On(mydb.BitQuery) {
		var span trace.Span
		ctx, span = mydb.Tracer.Start(ctx, "query", trace.WithAttributes(attrs...))
		defer span.End()
	}
	work(ctx)
}

func formattingAbove(ctx context.Context, err error, tables []string) {
	var name = "query " + strings.Join(tables, ",") // want `name, reason: used only if mydb.QueryOn\(\)`
	reason := fmt.Sprintf("failed: %v", err)
	if mydb.QueryOn() {
		var span trace.Span
		ctx, span = mydb.Start(ctx, name)
		span.AddEvent(reason)
		defer span.End()
	}
	work(ctx)
}

func formattingFarAbove(ctx context.Context, table string) {
	name := fmt.Sprint("query ", table) // want `name: used only if`
	work(ctx)
	if mydb.QueryOn() {
		_, span := mydb.Start(ctx, name)
		span.End()
	}
}

func attributesOfDo(ctx context.Context, table string) error {
	return otelgate.Do(ctx, mydb.Tracer, "query", func(ctx context.Context, span trace.Span) error {
		return work(ctx)
	}, trace.WithAttributes(attribute.String("table", table))) // want `these attributes are made while the span is off, too`
}

func attributesOfGatedStart(ctx context.Context, provider *otelgate.TracerProvider, table string) {
	tracer := provider.Tracer("example.com/app/eagerwork")
	ctx, span := tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("table", table))) // want `these attributes are made`
	defer span.End()
	work(ctx)
}

func attributesOfGatedWrapper(ctx context.Context, table string) {
	ctx, span := mydb.StartQuery(ctx, trace.WithAttributes(attribute.String("table", table))) // want `these attributes are made`
	defer span.End()
	work(ctx)
}

func usedAfterwards(ctx context.Context, table string) string {
	name := fmt.Sprint("query ", table)
	if mydb.QueryOn() {
		_, span := mydb.Start(ctx, name)
		span.End()
	}
	return name
}

// The time and the result are those of the call, so they can't move.
func measured(ctx context.Context) {
	start := time.Now()
	err := work(ctx)
	if mydb.QueryOn() {
		_, span := mydb.Start(ctx, "query", trace.WithTimestamp(start))
		span.RecordError(err)
		span.End()
	}
}

// What is formatted changes in between.
func changed(ctx context.Context, request *struct{ Table string }) {
	name := fmt.Sprint("query ", request.Table)
	request.Table = ""
	if mydb.QueryOn() {
		_, span := mydb.Start(ctx, name)
		span.End()
	}
}

func arithmetic(ctx context.Context, a, b int) {
	sum := a + b
	if mydb.QueryOn() {
		_, span := mydb.Start(ctx, "query")
		span.SetAttributes(attribute.Int("sum", sum))
		span.End()
	}
}

func guardedAlready(ctx context.Context, provider *otelgate.TracerProvider, table string) {
	tracer := provider.Tracer("example.com/app/eagerwork")
	if mydb.QueryOn() {
		_, span := tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("table", table)))
		span.End()
	}
}

func ungatedTracer(ctx context.Context, tracer trace.Tracer, table string) {
	_, span := tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("table", table)))
	span.End()
}

func constants(ctx context.Context) {
	_, span := mydb.StartQuery(ctx, trace.WithAttributes(attribute.String("db.system", "mydb")))
	span.End()
}

func nameOfDo(ctx context.Context, table string) error {
	return otelgate.Do(ctx, mydb.Tracer, fmt.Sprint("query ", table), func(ctx context.Context, _ trace.Span) error { // want `the name is formatted while the span is off, too`
		return work(ctx)
	})
}

func attributesInVariable(ctx context.Context, table string) {
	attrs := []attribute.KeyValue{attribute.String("table", table)}
	attrs = append(attrs, attribute.String("db.system", "mydb"))
	_, span := mydb.StartQuery(ctx, trace.WithAttributes(attrs...)) // want `these attributes are made`
	span.End()
}

var common = []attribute.KeyValue{attribute.String("db.system", strings.ToLower("MyDB"))}

func attributesMadeBefore(ctx context.Context, own []attribute.KeyValue) {
	_, span := mydb.StartQuery(ctx, trace.WithAttributes(common...), trace.WithAttributes(own...))
	span.End()
}

func startWith(ctx context.Context, option trace.SpanStartOption) (context.Context, trace.Span) {
	if !mydb.QueryOn() {
		return ctx, trace.SpanFromContext(ctx)
	}
	return mydb.Start(ctx, "query", option)
}

// The option can't be left out, so there is no fix.
func attributesThatMustBeGiven(ctx context.Context, table string) {
	_, span := startWith(ctx, trace.WithAttributes(attribute.String("table", table))) // want `these attributes are made`
	span.AddEvent("started")
}

type queue struct{ items []string }

func (q *queue) drain() error { q.items = nil; return nil }

// What is formatted changes in the statement itself.
func changedByInit(ctx context.Context, q *queue) {
	before := fmt.Sprint(q.items)
	if err := q.drain(); err == nil && mydb.QueryOn() {
		_, span := mydb.Start(ctx, before)
		span.End()
	}
}

func changedByCondition(ctx context.Context, q *queue) {
	before := fmt.Sprint(q.items)
	if q.drain() == nil && mydb.QueryOn() {
		_, span := mydb.Start(ctx, before)
		span.End()
	}
}

// A failure has a span with these attributes while the span is off, too.
func attributesOfErrors(ctx context.Context, table string) error {
	return otelgate.Do(ctx, mydb.Tracer, "query", func(ctx context.Context, span trace.Span) error {
		return work(ctx)
	}, otelgate.OnError(), trace.WithAttributes(attribute.String("table", table)))
}

// A function on one line has no fix.
func oneLine(ctx context.Context, table string) error {
	return otelgate.Do(ctx, mydb.Tracer, "query", func(ctx context.Context, span trace.Span) error { return work(ctx) }, trace.WithAttributes(attribute.String("table", table))) // want `these attributes are made`
}
