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
// If fn returns an error, the span records it and gets the status Error with the error's text.
// That includes the error of a cancelled context; an fn for which cancellation is no failure
// returns nil. (In Python, CancelledError is not an Exception, so nemo-lens leaves such a span
// without a status.) If fn panics or calls [runtime.Goexit], the span gets the status Error and
// ends, the SDK records the panic, and the panic continues.
//
// fn gets the span as an argument and must not take it from the context: while the site is off,
// Do is a transparent site ([Rule.Transparent]). It leaves the context unchanged, so the span in it
// is an ancestor's, except in a few cases, as with [trace.WithNewRoot]; the package's doc has them.
// The argument is an inert span then.
//
// While the site is off, a failure leaves no span unless the options include [OnError].
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
	gated, ok := tracer.(*gatedTracer)
	if ok {
		tracer = gated.forDo
	}
	ctx, s := tracer.Start(ctx, name, opts...)
	if _, off := s.(*inert); off {
		if len(opts) > 0 && gated != nil && hasOnError(opts) {
			return gated.doOff(ctx, name, s, fn, opts)
		}
		return fn(ctx, s)
	}
	defer s.End() // deferred directly: called by a deferred closure, the SDK's End sees no panic
	returned := false
	defer func() {
		if !returned {
			s.SetStatus(codes.Error, panicked)
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

// panicked is the status of the span of a function that did not return.
const panicked = "panic or runtime.Goexit"
