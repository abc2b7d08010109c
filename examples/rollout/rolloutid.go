// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelsdk/gym"
)

// newRolloutID returns an ID that can be a trace ID.
func newRolloutID() string {
	var id trace.TraceID
	rand.Read(id[:]) // never fails
	return id.String()
}

// rolloutTrace makes a rollout's ID the trace ID of its roots, which are its spans without a parent in
// this process or another. With only the groups model_call and verify on, three spans of a rollout have
// no span above them that is on, so no traceparent can join them. They become three roots of one
// trace, and none names a parent that was never exported. The ID comes with every call, in its path,
// whether a span is on or not. A server on a public network must not take a trace ID from its callers.
func rolloutTrace(ctx context.Context) trace.TraceID {
	id, err := trace.TraceIDFromHex(gym.RolloutID(ctx))
	if err != nil {
		return trace.TraceID{} // not in a rollout: a job that is off is no trace
	}
	return id
}
