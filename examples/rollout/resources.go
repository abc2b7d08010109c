// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// resources is the environment: it runs the model's tool in a sandbox and verifies answers.
type resources struct {
	gate   *spangate.Gate
	tracer trace.Tracer // of no group: its sites look at the gate themselves
	verify trace.Tracer // of the group verify
}

func newResources(t *telemetry) http.Handler {
	r := &resources{
		gate:   t.gate,
		tracer: t.provider.Tracer(scope),
		verify: t.provider.Group(spangate.BitVerify).Tracer(scope),
	}
	mux := http.NewServeMux()
	handle(mux, "POST /tool", r.tool)
	handle(mux, "POST /verify", r.check)
	return mux
}

// tool runs the calculator. What goes wrong in the sandbox is for the model to read.
func (r *resources) tool(ctx context.Context, call Call) (Message, error) {
	// The guarded form is for hot places: while the group is off, it costs a load and an
	// AND, and nothing in the block is evaluated, attributes included.
	if r.gate.On(spangate.BitSandbox) {
		_, span := r.tracer.Start(ctx, "sandbox", trace.WithAttributes(attribute.String("sandbox.code", call.Expression)))
		defer span.End()
	}
	value, err := evaluate(call.Expression)
	if err != nil {
		value = err.Error()
	}
	return Message{Role: "tool", Content: value}, nil
}

func (r *resources) check(ctx context.Context, attempt Attempt) (outcome Outcome, err error) {
	err = otelgate.Do(ctx, r.verify, "verify", func(_ context.Context, span trace.Span) error {
		want, err := evaluate(attempt.Expected)
		if err != nil {
			return fmt.Errorf("the task's expected answer: %w", err)
		}
		outcome.Answer = attempt.Answer
		if got, err := evaluate(attempt.Answer); err == nil && got == want {
			outcome.Reward = 1
		}
		span.SetAttributes(attribute.Float64("verify.reward", outcome.Reward))
		return nil
	})
	return outcome, err
}

// evaluate returns the value of a constant Go expression. That makes a good sandbox: there
// is no variable, no function and no loop in it, and its numbers are bounded.
func evaluate(expression string) (string, error) {
	result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err != nil {
		return "", err
	}
	if result.Value == nil {
		return "", fmt.Errorf("%q has no constant value", expression)
	}
	return result.Value.ExactString(), nil
}
