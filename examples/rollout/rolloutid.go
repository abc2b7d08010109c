// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelsdk/gym"
)

// rolloutTraces makes a rollout's ID the trace ID of its roots, which are its spans without a parent in
// this process or another. With only the groups model_call and verify on, three spans of a rollout have
// no span above them that is on, so no traceparent can join them. They become three roots of one
// trace, and none names a parent that was never exported. The ID comes with every call, in its path,
// whether a span is on or not. A server on a public network must not take a trace ID from its callers.
type rolloutTraces struct{}

var _ sdktrace.IDGenerator = rolloutTraces{}

// NewIDs is called for a span without a parent.
func (g rolloutTraces) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, err := trace.TraceIDFromHex(gym.RolloutID(ctx))
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
