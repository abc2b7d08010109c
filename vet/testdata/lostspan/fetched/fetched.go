// SPDX-License-Identifier: Apache-2.0

// Package fetched ends spans that it fetches from the context.
package fetched

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"example.com/app/mydb"
)

func finish(ctx context.Context) { trace.SpanFromContext(ctx).End() }

func query(ctx context.Context) {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span := mydb.Tracer.Start(ctx, "query")
		span.SetName("query")
		finish(ctx)
	}
}
