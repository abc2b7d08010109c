// SPDX-License-Identifier: Apache-2.0

// Package careful ends the spans that it starts, and marks one that it finds.
package careful

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

func Call(ctx context.Context, p trace.TracerProvider) {
	trace.SpanFromContext(ctx).AddEvent("call")
	_, span := p.Tracer("example.com/app/transparent/careful").Start(ctx, "call")
	span.End()
}
