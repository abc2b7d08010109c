// SPDX-License-Identifier: Apache-2.0

// Package library is of the hook shape: it ends the span that it finds in the context.
package library

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

const scope = "example.com/app/transparent/library"

type Hooks struct{ tracer trace.Tracer }

func New(p trace.TracerProvider) Hooks { return Hooks{p.Tracer(scope)} }

func (h Hooks) Before(ctx context.Context) context.Context {
	ctx, _ = h.tracer.Start(ctx, "call")
	return ctx
}

func (h Hooks) After(ctx context.Context) {
	span := trace.SpanFromContext(ctx)
	defer span.End()
}
