// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// model is the policy: it turns a question into a call of the calculator, and the
// calculator's result into an answer.
type model struct {
	tracer trace.Tracer
}

func newModel(t *telemetry) http.Handler {
	m := &model{tracer: t.provider.Group(spangate.BitModelCall).Tracer(scope)}
	mux := http.NewServeMux()
	handle(mux, "POST /respond", m.respond)
	return mux
}

func (m *model) respond(ctx context.Context, conversation []Message) (reply Message, err error) {
	err = otelgate.Do(ctx, m.tracer, "model_call", func(_ context.Context, span trace.Span) error {
		if len(conversation) == 0 {
			return errors.New("the conversation is empty")
		}
		span.SetAttributes(attribute.Int("model.messages", len(conversation)))
		reply = infer(conversation[len(conversation)-1])
		return nil
	})
	return reply, err
}

func infer(last Message) Message {
	if last.Role == "tool" {
		return Message{Role: "assistant", Content: last.Content}
	}
	return Message{Role: "assistant", Call: &Call{Expression: expression(last.Content)}}
}

// expression reads the numbers and the operators out of a question, and passes over the
// words that the model does not know.
func expression(question string) string {
	operators := map[string]string{"plus": "+", "minus": "-", "times": "*"}
	var tokens []string
	for word := range strings.FieldsSeq(question) {
		word = strings.TrimRight(word, "?.,")
		if _, err := strconv.ParseFloat(word, 64); err == nil {
			tokens = append(tokens, word)
		} else if operator, known := operators[word]; known {
			tokens = append(tokens, operator)
		}
	}
	return strings.Join(tokens, " ")
}
