// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Do runs fn in a span of tracer, any tracer, and returns fn's error. It is nemo-lens's
// managed_span and trace_fn.
//
// If fn returns an error, it is recorded on the span, whose status becomes Error with the
// error's text. The error of a cancelled context is no exception: an fn that does not count
// cancellation as a failure returns nil. (In Python, CancelledError is not an Exception, so
// nemo-lens leaves such a span without a status.) If fn panics or calls [runtime.Goexit], the
// status becomes Error, the span ends, and the panic goes on; the SDK records what it was.
//
// fn gets the span as an argument and must not take it from the context: while the site is off,
// Do leaves the context unchanged, like a transparent site ([Rule.Transparent]), so the span in
// it is an ancestor's. The argument is an inert span then.
//
// A nil tracer or fn is an error, and nothing runs.
func Do(ctx context.Context, tracer trace.Tracer, name string, fn func(context.Context, trace.Span) error, opts ...trace.SpanStartOption) error {
	if tracer == nil || fn == nil {
		what := "function"
		if tracer == nil {
			what = "tracer"
		}
		return fmt.Errorf("otelgate: Do: span %.256q: nil %s; nothing was run", name, what)
	}
	if t, ok := tracer.(*gatedTracer); ok {
		tracer = t.transparent
	}
	ctx, s := tracer.Start(ctx, name, opts...)
	if _, off := s.(*inert); off {
		return fn(ctx, s)
	}
	defer s.End() // itself deferred: in a closure, the SDK's End would not see a panic
	returned := false
	defer func() {
		if !returned {
			s.SetStatus(codes.Error, "panic or runtime.Goexit")
		}
	}()
	err := fn(ctx, s)
	if err != nil {
		s.RecordError(err)
		s.SetStatus(codes.Error, err.Error())
	}
	returned = true // last: the text of an error may panic too
	return err
}
