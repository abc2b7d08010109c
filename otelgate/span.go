// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// span is a span of the base that is on. All of its methods but one are the base's. They
// are promoted, not written out, since the SDK's End records a panic only when the deferred
// call reaches it directly, and a promoted method does not stand in between.
type span struct {
	trace.Span
	beneath inert // what a site that is off right beneath this span hands back
}

// TracerProvider returns the gated provider.
func (s *span) TracerProvider() trace.TracerProvider { return s.beneath.root }

// started is a span that is on and the context in which it is the current one: one
// allocation, where [trace.ContextWithSpan] would make it two.
type started struct {
	context.Context
	span span
}

// Value returns the span for the key of the current span.
func (c *started) Value(key any) any {
	if key == spanKey {
		return &c.span
	}
	return c.Context.Value(key)
}

// inert is the span of a site that is off. It has the context of the span above, if there
// is one, and is otherwise OpenTelemetry's own no-op span.
type inert struct {
	trace.Span // noSpan: what OpenTelemetry adds to the interface is inert too
	root       *TracerProvider
	of         trace.Span
}

// noSpan is shared by all inert spans; embedding a noop.Span in each would make every span
// that is on a good deal larger.
var noSpan trace.Span = noop.Span{}

func newInert(root *TracerProvider, of trace.Span) inert {
	return inert{Span: noSpan, root: root, of: of}
}

var (
	_ trace.Span      = (*span)(nil)
	_ trace.Span      = (*inert)(nil)
	_ context.Context = (*started)(nil)
)

// SpanContext returns that of the span above.
func (s *inert) SpanContext() trace.SpanContext { return s.of.SpanContext() }

// TracerProvider returns the gated provider.
func (s *inert) TracerProvider() trace.TracerProvider { return s.root }
