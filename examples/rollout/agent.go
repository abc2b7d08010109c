// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// agent runs a task: it loops over the model and its tool until there is an answer, and has
// the answer verified.
type agent struct {
	tracer           trace.Tracer
	client           *http.Client
	model, resources string // URLs
}

func newAgent(t *telemetry, model, resources string) http.Handler {
	a := &agent{
		// A view of the provider: whatever this tracer starts is of the group agent.
		tracer:    t.provider.Group(spangate.BitAgent).Tracer(scope),
		client:    newClient(),
		model:     model,
		resources: resources,
	}
	mux := http.NewServeMux()
	handle(mux, "POST /run", a.run)
	return mux
}

func (a *agent) run(ctx context.Context, task Task) (Outcome, error) {
	answer, err := a.loop(ctx, task.Prompt)
	if err != nil {
		return Outcome{}, err
	}
	return call[Outcome](ctx, a.client, a.resources+"/verify", Attempt{Answer: answer, Expected: task.Expected})
}

// maxTurns keeps a model that never answers from looping for ever.
const maxTurns = 4

func (a *agent) loop(ctx context.Context, prompt string) (answer string, err error) {
	// Do is for a site whose span should show the error. While the group is off, span is
	// inert and ctx is the caller's: the calls beneath join the span above.
	err = otelgate.Do(ctx, a.tracer, "agent", func(ctx context.Context, span trace.Span) error {
		conversation := []Message{{Role: "user", Content: prompt}}
		for turn := range maxTurns {
			reply, err := call[Message](ctx, a.client, a.model+"/respond", conversation)
			if err != nil {
				return err
			}
			if reply.Call == nil {
				answer = reply.Content
				span.SetAttributes(attribute.Int("agent.turns", turn+1))
				return nil
			}
			result, err := call[Message](ctx, a.client, a.resources+"/tool", reply.Call)
			if err != nil {
				return err
			}
			conversation = append(conversation, reply, result)
		}
		return fmt.Errorf("no answer in %d turns", maxTurns)
	})
	return answer, err
}
