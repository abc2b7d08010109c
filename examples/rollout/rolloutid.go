// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/contrib/processors/baggagecopy"
	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A rollout has an ID, which travels as W3C baggage wherever its calls go, whether a span is
// on or not. Two things come of it in each process:
//
//   - Every span has the ID as an attribute, so that it can be told which rollout a span
//     belongs to, also in a trace of many rollouts.
//   - A span that has no span above it, in this process or another, takes the ID for its
//     trace ID. With the groups model_call and verify alone, say, three calls of one rollout
//     are spans that have nothing above them that is on: a traceparent can't join what has
//     no parent. They become three roots of one trace, and none has a parent that nobody
//     ever exported.
const rolloutID = "rollout.id"

// withRolloutID returns ctx for a new rollout, and the rollout's ID.
func withRolloutID(ctx context.Context) (context.Context, string, error) {
	var id trace.TraceID
	crand.Read(id[:]) // never fails
	member, err := baggage.NewMember(rolloutID, id.String())
	if err != nil {
		return nil, "", err
	}
	bag, err := baggage.FromContext(ctx).SetMember(member)
	if err != nil {
		return nil, "", err
	}
	return baggage.ContextWithBaggage(ctx, bag), id.String(), nil
}

// rolloutAttribute puts the ID on every span.
func rolloutAttribute() sdktrace.SpanProcessor {
	return baggagecopy.NewSpanProcessor(func(m baggage.Member) bool { return m.Key() == rolloutID })
}

// rolloutTraces makes the ID the trace ID of a rollout's roots. As with a traceparent, a
// server that strangers can reach would not take it from them.
type rolloutTraces struct{}

var _ sdktrace.IDGenerator = rolloutTraces{}

// NewIDs is called for a span without a parent.
func (g rolloutTraces) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, err := trace.TraceIDFromHex(baggage.FromContext(ctx).Member(rolloutID).Value())
	for err != nil { // not in a rollout
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
		if id.IsValid() {
			break
		}
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID is called for a span with a parent.
func (rolloutTraces) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
