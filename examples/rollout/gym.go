// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/otelsdk/gym"
)

// Task is what a rollout has to solve.
type Task struct {
	Prompt   string `json:"prompt"`
	Expected string `json:"expected"`
}

// tasks is the dataset. The model does not know "squared", so the third answer is wrong.
var tasks = [...]Task{
	{Prompt: "What is 6 times 7?", Expected: "42"},
	{Prompt: "What is 128 minus 59 plus 3?", Expected: "72"},
	{Prompt: "What is 9 squared?", Expected: "81"},
}

// Message is one turn of the conversation of agent, model and tool.
type Message struct {
	Role    string `json:"role"` // user, assistant, or for the calculator, which is the only tool: call, tool
	Content string `json:"content"`
}

// Attempt is an answer to verify.
type Attempt struct {
	Answer   string `json:"answer"`
	Expected string `json:"expected"`
}

// Outcome is the result of a rollout.
type Outcome struct {
	Answer string  `json:"answer"`
	Reward float64 `json:"reward"`
}

// agent runs a task: it calls the model and its tool in turns until there is an answer, and then
// has the answer verified.
type agent struct {
	tracer           trace.Tracer
	client           *http.Client
	model, resources string // URLs
}

func newAgent(t *telemetry, model, resources string) http.Handler {
	// The tracer of a view of the provider: every span that it starts is of the group agent.
	a := &agent{t.provider.Group(spangate.BitAgent).Tracer(gym.Scope), t.newClient(), model, resources}
	mux := http.NewServeMux()
	handle(mux, "POST /run", a.run)
	return mux
}

func (a *agent) run(ctx context.Context, task Task) (Outcome, error) {
	answer, err := a.answer(ctx, task.Prompt)
	if err != nil {
		return Outcome{}, err
	}
	return call[Outcome](ctx, a.client, a.resources, "/verify", Attempt{Answer: answer, Expected: task.Expected})
}

// maxTurns ends the conversation with a model that never answers.
const maxTurns = 4

func (a *agent) answer(ctx context.Context, prompt string) (answer string, err error) {
	// Do is the form of a site whose span records the error. While the group is off, span is
	// inert, ctx is the caller's, and the calls beneath join the span above.
	err = otelgate.Do(ctx, a.tracer, gym.SpanAgentResponses, func(ctx context.Context, _ trace.Span) error {
		conversation := []Message{{Role: "user", Content: prompt}}
		for range maxTurns {
			reply, err := call[Message](ctx, a.client, a.model, "/v1/responses", conversation)
			if err != nil {
				return err
			}
			if reply.Role != "call" {
				answer = reply.Content
				return nil
			}
			result, err := call[Message](ctx, a.client, a.resources, "/tool", reply)
			if err != nil {
				return err
			}
			conversation = append(conversation, reply, result)
		}
		return fmt.Errorf("no answer in %d turns", maxTurns)
	})
	return answer, err
}

// model is the policy: it turns a question into a call of the calculator, and the result of the
// calculator into an answer.
type model struct{ tracer trace.Tracer }

func newModel(t *telemetry) http.Handler {
	m := &model{t.provider.Group(spangate.BitModelCall).Tracer(gym.Scope)}
	mux := http.NewServeMux()
	handle(mux, "POST /v1/responses", m.respond)
	return mux
}

func (m *model) respond(ctx context.Context, conversation []Message) (reply Message, err error) {
	err = otelgate.Do(ctx, m.tracer, gym.SpanModelResponses, func(context.Context, trace.Span) error {
		if len(conversation) == 0 {
			return errors.New("the conversation is empty")
		}
		last := conversation[len(conversation)-1]
		reply = Message{Role: "call", Content: expression(last.Content)}
		if last.Role == "tool" {
			reply = Message{Role: "assistant", Content: last.Content}
		}
		return nil
	})
	return reply, err
}

// expression returns the numbers and operators of a question, without the words that the model
// does not know.
func expression(question string) string {
	operators := map[string]string{"plus": "+", "minus": "-", "times": "*"}
	var tokens []string
	for word := range strings.FieldsSeq(question) {
		word = strings.TrimRight(word, "?.,")
		if _, err := strconv.ParseFloat(word, 64); err == nil {
			tokens = append(tokens, word)
		} else if operator, ok := operators[word]; ok {
			tokens = append(tokens, operator)
		}
	}
	return strings.Join(tokens, " ")
}

// resources is the environment: it runs the model's tool in a sandbox and verifies answers.
type resources struct {
	gate     *spangate.Gate
	tracer   trace.Tracer // of no group: its site checks the gate
	verifier trace.Tracer // of the group verify
}

func newResources(t *telemetry) http.Handler {
	r := &resources{t.gate, t.provider.Tracer(gym.Scope), t.provider.Group(spangate.BitVerify).Tracer(gym.Scope)}
	mux := http.NewServeMux()
	handle(mux, "POST /tool", r.tool)
	handle(mux, "POST /verify", r.verify)
	return mux
}

// tool runs the calculator. The model gets an error of the sandbox as the result.
func (r *resources) tool(ctx context.Context, call Message) (Message, error) {
	// The guarded form of a site is for hot code. While the group is off, it costs a load and
	// an AND, and the block is not evaluated, attributes included. The code that runs is not an
	// attribute, since it is the model's output.
	if r.gate.On(spangate.BitSandbox) {
		_, span := r.tracer.Start(ctx, gym.SpanSandboxExec, trace.WithAttributes(gym.SandboxProviderKey.String("go/types")))
		defer span.End()
	}
	value, err := evaluate(call.Content)
	if err != nil {
		value = err.Error()
	}
	return Message{Role: "tool", Content: value}, nil
}

func (r *resources) verify(ctx context.Context, attempt Attempt) (outcome Outcome, err error) {
	err = otelgate.Do(ctx, r.verifier, gym.SpanVerify, func(context.Context, trace.Span) error {
		expected, err := evaluate(attempt.Expected)
		if err != nil {
			return errors.New("the task's expected answer has no value") // err quotes the answer, and Do records it
		}
		outcome.Answer = attempt.Answer
		if value, err := evaluate(attempt.Answer); err == nil && value == expected {
			outcome.Reward = 1
		}
		return nil
	})
	return outcome, err
}

// evaluate returns the value of a constant Go expression, which is a safe sandbox: it has no
// variables, functions or loops, and bounded numbers.
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
