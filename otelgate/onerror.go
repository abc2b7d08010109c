// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// OnErrorKey is the attribute, true, of a span that [OnError] created after its function had failed.
const OnErrorKey = attribute.Key("spangate.on_error")

// OnError is an option of [Do] only. If the group of the span is off and the function fails (returns
// an error, panics or calls [runtime.Goexit]), Do creates the span afterwards: beneath the nearest span that
// is on, with the function's real start and end, the error, and [OnErrorKey]. A failure that passes
// through several calls of Do leaves a span for each, side by side: when an inner one is created,
// the outer one does not exist yet.
//
// The argument of the function is an inert span all the same, so what it writes there is lost. The
// gate has no say: OnError creates spans of groups that are denied too. [ErrorSpanLimit] limits how
// many are created in a second. Such a span counts as [Site].Started, and before as Withheld. Built with
// -tags spangate_off, there are none.
//
// OnError costs two readings of the clock while the group is off.
func OnError() trace.SpanStartOption { return onError{trace.WithLinks()} }

// onError is an option that changes nothing where a tracer gets it.
type onError struct{ trace.SpanStartOption }

func hasOnError(opts []trace.SpanStartOption) bool {
	for _, opt := range opts {
		if _, ok := opt.(onError); ok {
			return spangate.Compiled
		}
	}
	return false
}

const defaultErrorSpans = 100

// ErrorSpanLimit limits the spans that the provider creates for [OnError] to so many a second, in place
// of 100. With zero there are none; a negative number is [ErrInvalidOption].
func ErrorSpanLimit(perSecond int) Option {
	return optionFunc(func(o *config) {
		if perSecond < 0 {
			o.err = errors.New("ErrorSpanLimit was given a negative number; pass spans a second, or 0 for none")
		}
		o.errorSpans = perSecond
	})
}

// ErrorSpansOverLimit returns how many spans were not created for [OnError] because of [ErrorSpanLimit].
func (p *TracerProvider) ErrorSpansOverLimit() uint64 {
	if p == nil || p.origin == nil {
		return 0
	}
	e := &p.origin.errorSpans
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}

// errorSpans limits the spans of OnError.
type errorSpans struct {
	perSecond int

	mu    sync.Mutex
	begin time.Time // of the second in which made were made
	made  int
	over  uint64
}

// take reports whether a span may be made now.
func (e *errorSpans) take(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.begin) >= time.Second {
		e.begin, e.made = now, 0
	}
	if e.made >= e.perSecond {
		e.over++
		return false
	}
	e.made++
	return true
}

// giveBack undoes a take(now) for which no span was made.
func (e *errorSpans) giveBack(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !now.Before(e.begin) { // else the second is over
		e.made--
	}
}

// doOff is Do at a site that is off, with OnError. ctx and span are what Start returned.
func (t *gatedTracer) doOff(ctx context.Context, name string, span trace.Span, fn func(context.Context, trace.Span) error, opts []trace.SpanStartOption) (err error) {
	start := time.Now()
	returned := false
	defer func() {
		if returned && err == nil {
			return
		}
		end := start.Add(time.Since(start))
		if !t.origin.errorSpans.take(end) {
			return
		}
		at := trace.WithTimestamp(end)
		if isNewRoot(opts) {
			opts = withoutNewRoot(opts) // Start has detached ctx, which may have the ID of the new trace
		}
		// The options of the caller come last: it may have given a start of its own.
		opts := append([]trace.SpanStartOption{trace.WithTimestamp(start), trace.WithAttributes(OnErrorKey.Bool(true))}, opts...)
		if o := spangate.OverrideFromContext(ctx); o != nil && ctx.Value(taggedKey{}) != any(o) {
			opts = append(opts, trace.WithAttributes(OverrideKey.String(o.Name().ID)))
		}
		_, late := t.base.Start(t.baseContext(ctx, ctx.Value(spanKey)), name, opts...)
		if _, off := late.(*inert); off || late == nil { // the base is gated too, or faulty
			t.origin.errorSpans.giveBack(end)
			return
		}
		t.sites.of(name, opts).started.add()
		defer late.End(at)
		late.SetStatus(codes.Error, panicked)
		if returned {
			late.RecordError(err, at)
			late.SetStatus(codes.Error, err.Error())
		}
	}()
	err = fn(ctx, span)
	returned = true
	return err
}
