// SPDX-License-Identifier: Apache-2.0

package otelsdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TruncatedKey is the attribute, with the value true, of a span that [EndOpenSpans] has ended. It
// is nemo-lens's name. The span's end is the time of the shutdown and not that of the work, so
// exclude it from statistics of durations.
const TruncatedKey = attribute.Key("nemo.span.truncated")

// MaxOpen is how many open spans [EndOpenSpans] keeps. A span that the program never ends counts
// until the shutdown.
const MaxOpen = 1 << 16

// EndOpenSpans returns a span processor that passes spans on to the processors of next, in order,
// and at shutdown ends the spans that are still open, before it shuts down next. OpenTelemetry
// exports a span only when it ends, so without it a span that is open when the process stops is
// lost, and the spans beneath it have a parent that does not exist. The ended spans have the
// attribute [TruncatedKey] and a common end. To end such a span later has no effect.
//
//	sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
//		otelsdk.EndOpenSpans(sdktrace.NewBatchSpanProcessor(exporter))))
//
// Pass it every processor that exports; nil ones are ignored. A processor that is not passed, but
// registered with the SDK too, receives the ended spans only if it is registered later, since the SDK
// shuts processors down in the order of registration. A batch processor drops spans while its queue
// is full, so next is flushed before each 512 spans that are ended; the queue must hold as many, as
// the default one does.
//
// The program has to call Shutdown of the TracerProvider, on SIGTERM too: a process that is killed
// loses its open spans. No further span is ended once the context of Shutdown is done; the error
// says how many are left. A span that starts after Shutdown was called is not exported. ForceFlush
// ends no span. Stop the work first: a span that ends by itself during Shutdown may come too late.
//
// Up to [MaxOpen] open spans are kept. A span that starts while so many are open is exported when it
// ends; if it is open at shutdown it is lost, and Shutdown returns an error.
//
// A span costs about 900 instructions more, beside the 3,200 that the SDK takes for an empty one, and
// no allocation (BenchmarkSpan, in cachegrind). All spans share one lock. The processor is safe for
// concurrent use.
func EndOpenSpans(next ...sdktrace.SpanProcessor) sdktrace.SpanProcessor {
	next = slices.DeleteFunc(slices.Clone(next), func(p sdktrace.SpanProcessor) bool { return p == nil })
	return &openSpans{next: next, open: make(map[spanID]sdktrace.ReadWriteSpan)}
}

// spanID identifies a span: a span ID is unique within its trace only.
type spanID struct {
	trace trace.TraceID
	span  trace.SpanID
}

type openSpans struct {
	next []sdktrace.SpanProcessor

	mu     sync.Mutex
	open   map[spanID]sdktrace.ReadWriteSpan
	missed int  // open spans that are not in open, since it was full
	closed bool // Shutdown was called
}

var _ sdktrace.SpanProcessor = (*openSpans)(nil)

func (o *openSpans) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	for _, p := range o.next {
		p.OnStart(parent, s)
	}
	id := idOf(s)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case len(o.open) < MaxOpen:
		o.open[id] = s
	default:
		o.missed++
	}
}

// OnEnd finds the span by its ID, since s is a snapshot and not what OnStart received. It does not pass
// on a span that started after Shutdown was called: a parent that started then too may never be
// exported.
func (o *openSpans) OnEnd(s sdktrace.ReadOnlySpan) {
	id := idOf(s)
	o.mu.Lock()
	n := len(o.open)
	delete(o.open, id)
	kept := len(o.open) < n // cheaper than a lookup
	if !kept && o.missed > 0 {
		o.missed--
	}
	closed := o.closed
	o.mu.Unlock()
	if closed && !kept {
		return
	}
	for _, p := range o.next {
		p.OnEnd(s)
	}
}

func idOf(s sdktrace.ReadOnlySpan) spanID {
	c := s.SpanContext()
	return spanID{c.TraceID(), c.SpanID()}
}

func (o *openSpans) ForceFlush(ctx context.Context) error {
	var err error
	for _, p := range o.next {
		err = errors.Join(err, p.ForceFlush(ctx))
	}
	return err
}

func (o *openSpans) Shutdown(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	open, missed := slices.Collect(maps.Values(o.open)), o.missed
	o.missed = 0
	end := time.Now()
	o.mu.Unlock()

	err := o.end(ctx, open, end)
	if missed > 0 {
		err = errors.Join(err, fmt.Errorf("otelsdk: %d spans are lost: they were open at shutdown with %d others, the most that are kept; end every span that is started", missed, MaxOpen))
	}
	for _, p := range o.next {
		err = errors.Join(err, p.Shutdown(ctx))
	}
	return err
}

// end ends the spans. It flushes no more after a flush has failed, since each may take until its
// timeout.
func (o *openSpans) end(ctx context.Context, open []sdktrace.ReadWriteSpan, end time.Time) (err error) {
	for i, s := range open {
		if i%sdktrace.DefaultMaxExportBatchSize == 0 && err == nil {
			err = o.ForceFlush(ctx)
		}
		if ctx.Err() != nil {
			return errors.Join(err, fmt.Errorf("otelsdk: %d of %d open spans were not ended: %w", len(open)-i, len(open), ctx.Err()))
		}
		s.SetAttributes(TruncatedKey.Bool(true))
		s.End(trace.WithTimestamp(end))
	}
	return err
}
