// SPDX-License-Identifier: Apache-2.0

package ungated

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelgate"

	"example.com/app/mydb"
)

func sites(ctx context.Context, provider *otelgate.TracerProvider) {
	_, span := mydb.Tracer.Start(ctx, "always") // want `this span is on whatever the gate says`
	span.End()
	_, span = mydb.Start(ctx, "always") // want `this span is on whatever the gate says`
	span.End()

	if mydb.Gate.On(mydb.BitQuery) {
		_, span := mydb.Tracer.Start(ctx, "guarded")
		span.End()
	}
	_, span = mydb.StartQuery(ctx)
	span.End()
	_, span = provider.Tracer("example.com/app/ungated").Start(ctx, "gated")
	span.End()
	switch {
	case mydb.QueryOn():
		_, span := mydb.Tracer.Start(ctx, "guarded")
		span.End()
	}
	var _ trace.Span = span
	if !mydb.QueryOn() {
		return
	}
	_, span = mydb.Tracer.Start(ctx, "guarded")
	span.End()
}

// A wrapper's callers are the sites.
func start(ctx context.Context) (context.Context, trace.Span) { return mydb.Tracer.Start(ctx, "query") }

func caller(ctx context.Context) {
	_, span := start(ctx) // want `this span is on whatever the gate says`
	span.End()
}
