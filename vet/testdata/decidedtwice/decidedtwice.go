// SPDX-License-Identifier: Apache-2.0

package decidedtwice

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"example.com/app/mydb"
)

func work(context.Context) int { return 0 }

func end(ctx context.Context) {
	var span trace.Span
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	rows := work(ctx)
	if mydb.Gate.On(mydb.BitQuery) { // want `mydb.Gate.On\(mydb.BitQuery\) is asked again for span`
		span.SetAttributes(attribute.Int("rows", rows))
		span.End()
	}
}

func deferred(ctx context.Context) {
	var span trace.Span
	if mydb.QueryOn() {
		ctx, span = mydb.Start(ctx, "query")
	}
	defer func() {
		if mydb.QueryOn() { // want `mydb.QueryOn\(\) is asked again for span`
			span.End()
		}
	}()
	work(ctx)
}

func noopUntilThen(ctx context.Context) {
	var span trace.Span = noop.Span{}
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	work(ctx)
	if mydb.Gate.On(mydb.BitQuery) { // want `asked again`
		span.End()
	}
}

func tested(ctx context.Context) {
	var span trace.Span
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	work(ctx)
	if span != nil {
		span.End()
	}
}

func keptAnswer(ctx context.Context) {
	on := mydb.Gate.On(mydb.BitQuery)
	var span trace.Span
	if on {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	work(ctx)
	if on {
		span.End()
	}
}

func anotherSpan(ctx context.Context) {
	var span trace.Span
	if mydb.Gate.On(mydb.BitQuery) {
		_, span = mydb.Tracer.Start(ctx, "first")
		span.End()
	}
	work(ctx)
	if mydb.Gate.On(mydb.BitQuery) {
		_, span = mydb.Tracer.Start(ctx, "second")
		span.End()
	}
}

func anotherGroup(ctx context.Context) {
	var span trace.Span
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	rows := work(ctx)
	if span != nil && mydb.Gate.On(mydb.BitCache) {
		span.SetAttributes(attribute.Int("rows", rows))
	}
	if span != nil {
		span.End()
	}
}

// The fix has parentheses.
func leftIfOff(ctx context.Context) {
	var span trace.Span
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	work(ctx)
	if !mydb.Gate.On(mydb.BitQuery) { // want `is asked again for span`
		return
	}
	span.End()
}
