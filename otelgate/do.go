// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Do runs fn in a span of tracer, any tracer, and returns fn's error. It is nemo-lens's
// managed_span and trace_fn.
//
// If fn returns an error, it is recorded on the span, whose status becomes Error with the
// error's text. If fn panics or calls [runtime.Goexit], the status becomes Error, the span
// ends, and the panic goes on; the SDK records what it was.
//
// fn is handed the span rather than left to fetch it from the context, where it would find
// an ancestor while the site is off: the span is inert then.
func Do(ctx context.Context, tracer trace.Tracer, name string, fn func(context.Context, trace.Span) error, opts ...trace.SpanStartOption) error {
	var s trace.Span
	if t, ok := tracer.(*gatedTracer); ok {
		ctx, s = t.startTransparent(ctx, name, opts)
	} else {
		ctx, s = tracer.Start(ctx, name, opts...)
	}
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
