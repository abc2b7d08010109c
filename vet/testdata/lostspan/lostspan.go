// SPDX-License-Identifier: Apache-2.0

package lostspan

import (
	"context"
	"errors"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/app/mydb"
)

func work(context.Context) error { return nil }

func shadowed(ctx context.Context) error {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span := mydb.Tracer.Start(ctx, "query") // want `ctx is declared again in the block: what follows it is not beneath this span`
		defer span.End()
		mydb.Query(ctx)
	}
	return work(ctx)
}

func neverEnded(ctx context.Context) error {
	if mydb.Gate.On(mydb.BitQuery) {
		var span trace.Span
		ctx, span = mydb.Start(ctx, "query") // want `a path out of the function does not end span, which is started here`
		span.SetAttributes(attribute.Int("n", 1))
	}
	return work(ctx)
}

func openOnOnePath(ctx context.Context) error {
	if mydb.Gate.On(mydb.BitQuery) {
		_, span := mydb.Tracer.Start(ctx, "query") // want `a path out of the function does not end span`
		if err := work(ctx); err != nil {
			return err
		}
		span.End()
	}
	return nil
}

// The defer has the span from before, a nil one here.
func deferredTooEarly(ctx context.Context, span trace.Span) error {
	defer span.End()
	if mydb.Gate.On(mydb.BitQuery) {
		var inner trace.Span
		inner = span
		defer inner.End()
		_, inner = mydb.Tracer.Start(ctx, "query") // want `a path out of the function does not end inner`
	}
	return nil
}

func leftEarly(ctx context.Context) error {
	if !mydb.QueryOn() {
		return work(ctx)
	}
	_, span := mydb.Tracer.Start(ctx, "query") // want `a path out of the function does not end span`
	if err := work(ctx); err != nil {
		return err
	}
	span.End()
	return nil
}

func good(ctx context.Context) error {
	if mydb.Gate.On(mydb.BitQuery) {
		var span trace.Span
		ctx, span = mydb.Tracer.Start(ctx, "query")
		defer span.End()
	}
	return work(ctx)
}

func whollyInside(ctx context.Context) error {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span := mydb.Tracer.Start(ctx, "query")
		defer span.End()
		return work(ctx)
	}
	return work(ctx)
}

func endsInBlock(ctx context.Context) error {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span := mydb.Tracer.Start(ctx, "query")
		mydb.Query(ctx)
		span.End()
	}
	return work(ctx)
}

func testedLater(ctx context.Context) error {
	var span trace.Span
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	err := work(ctx)
	if span != nil {
		span.End()
	}
	return err
}

func endedByClosure(ctx context.Context) error {
	var span trace.Span
	defer func() {
		if span != nil {
			span.End()
		}
	}()
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	return work(ctx)
}

func handedOn(ctx context.Context, keep func(trace.Span)) {
	if mydb.Gate.On(mydb.BitQuery) {
		_, span := mydb.Tracer.Start(ctx, "query")
		keep(span)
	}
}

func returned(ctx context.Context) (_ context.Context, span trace.Span) {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	return ctx, span
}

func exits(ctx context.Context) {
	if mydb.Gate.On(mydb.BitQuery) {
		_, span := mydb.Tracer.Start(ctx, "query")
		if errors.Is(work(ctx), os.ErrClosed) {
			os.Exit(1)
		}
		span.End()
	}
}

// Spans that no gate decides on are for other analyzers.
func unguarded(ctx context.Context) {
	_, span := mydb.Tracer.Start(ctx, "query")
	span.SetName("always")
}

// The span goes on in the context, as in libraries that work through hooks.
func before(ctx context.Context) context.Context {
	if mydb.Gate.On(mydb.BitQuery) {
		var span trace.Span
		ctx, span = mydb.Tracer.Start(ctx, "query")
		span.SetAttributes(attribute.Int("n", 1))
	}
	return ctx
}

func beforeRequest(ctx context.Context, r interface{ SetContext(context.Context) }) {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span := mydb.Tracer.Start(ctx, "query")
		span.SetName("request")
		r.SetContext(ctx)
	}
}

type job struct {
	ctx  context.Context
	span trace.Span
}

func (j *job) start(ctx context.Context) {
	if mydb.Gate.On(mydb.BitQuery) {
		j.ctx, j.span = mydb.Tracer.Start(ctx, "job")
	}
	work(ctx)
}

func remembered(ctx context.Context) error {
	on := mydb.Gate.On(mydb.BitQuery)
	var span trace.Span
	if on {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	err := work(ctx)
	if on {
		span.End()
	}
	return err
}

func flagged(ctx context.Context) error {
	var span trace.Span
	traced := false
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span = mydb.Tracer.Start(ctx, "query")
		traced = true
	}
	err := work(ctx)
	if err != nil && traced {
		span.RecordError(err)
	}
	if traced {
		span.End()
	}
	return err
}
