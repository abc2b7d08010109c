// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/contrib/processors/baggagecopy"
	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// rolloutID is the key of a rollout's ID in W3C baggage, which travels with every call of the
// rollout whether a span is on or not. Each process uses the ID twice:
//
//   - Every span has it as an attribute, which distinguishes the rollouts of a trace.
//   - A span without a parent, in this process or another, takes it for its trace ID. With only
//     the groups model_call and verify on, three spans of a rollout have no span above them that
//     is on, so no traceparent can join them. They become three roots of one trace, and none
//     names a parent that was never exported.
const rolloutID = "rollout.id"

// withRolloutID returns ctx for a new rollout, and the rollout's ID.
func withRolloutID(ctx context.Context) (context.Context, string, error) {
	id := newTraceID().String()
	member, err := baggage.NewMember(rolloutID, id)
	if err != nil {
		return nil, "", err
	}
	bag, err := baggage.FromContext(ctx).SetMember(member)
	return baggage.ContextWithBaggage(ctx, bag), id, err
}

// rolloutAttribute puts the ID on every span.
func rolloutAttribute() sdktrace.SpanProcessor {
	return baggagecopy.NewSpanProcessor(func(m baggage.Member) bool { return m.Key() == rolloutID })
}

// rolloutTraces makes the ID the trace ID of a rollout's roots. A server on a public network
// must not take a trace ID from its callers.
type rolloutTraces struct{}

var _ sdktrace.IDGenerator = rolloutTraces{}

// NewIDs is called for a span without a parent.
func (g rolloutTraces) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, err := trace.TraceIDFromHex(baggage.FromContext(ctx).Member(rolloutID).Value())
	if err != nil { // not in a rollout
		id = newTraceID()
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID is called for a span with a parent.
func (rolloutTraces) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		rand.Read(id[:]) // never fails
	}
	return id
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		rand.Read(id[:])
	}
	return id
}
