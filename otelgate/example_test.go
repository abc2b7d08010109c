// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package otelgate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// printer stands for an SDK: it prints each span that starts, indented by its depth.
type printer struct{ noop.TracerProvider }

func (printer) Tracer(string, ...trace.TracerOption) trace.Tracer { return printingTracer{} }

type printingTracer struct{ noop.Tracer }

func (printingTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	depth := int(trace.SpanContextFromContext(ctx).SpanID()[7])
	fmt.Printf("%s%s\n", strings.Repeat("  ", depth), name)
	ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{0: 1, 7: byte(depth + 1)},
	}))
	return ctx, trace.SpanFromContext(ctx)
}

// Libraries without gates are switched by the names of their scopes. Spans beneath
// them stay in the trace.
func ExampleNewTracerProvider() {
	sdk := printer{} // sdktrace.NewTracerProvider(…) in a program
	var gate spangate.Gate
	provider, err := otelgate.NewTracerProvider(sdk, &gate,
		otelgate.Rule{Scope: "example.com/agent", Group: spangate.BitAgent},
		otelgate.Rule{Scope: "example.com/sandbox*", Group: spangate.BitSandbox})
	if err != nil {
		panic(err)
	}
	agent := provider.Tracer("example.com/agent")
	sandbox := provider.Tracer("example.com/sandbox/python")
	program := provider.Tracer("example.com/program") // no rule: always on

	for _, spec := range []string{"agent,sandbox", "sandbox", ""} {
		fmt.Printf("%q:\n", spec)
		gate.Store(spangate.MustParse(spec))

		ctx, root := program.Start(context.Background(), "task")
		ctx, loop := agent.Start(ctx, "agent loop")
		ctx, run := sandbox.Start(ctx, "run tool")
		_, done := program.Start(ctx, "write result")
		done.End()
		run.End()
		loop.End()
		root.End()
	}

	// Output:
	// "agent,sandbox":
	// task
	//   agent loop
	//     run tool
	//       write result
	// "sandbox":
	// task
	//   run tool
	//     write result
	// "":
	// task
	//   write result
}

// A view puts a program's own spans in a group.
func ExampleTracerProvider_Group() {
	gate := spangate.NewGate(spangate.BitRollout)
	provider, err := otelgate.NewTracerProvider(printer{}, gate)
	if err != nil {
		panic(err)
	}
	rollout := provider.Group(spangate.BitRollout).Tracer("example.com/program")
	verify := provider.Group(spangate.BitVerify).Tracer("example.com/program")

	ctx, span := rollout.Start(context.Background(), "rollout")
	defer span.End()
	_, span = verify.Start(ctx, "verify") // off
	defer span.End()

	// Output: rollout
}

// A rule may name a scope that the program does not have, and the program has scopes without a rule.
func ExampleTracerProvider_Scopes() {
	sdk := noop.NewTracerProvider() // sdktrace.NewTracerProvider(…) in a program
	gate := spangate.NewGate(spangate.BitAgent)
	provider, err := otelgate.NewTracerProvider(sdk, gate, otelgate.CountWithheld(),
		otelgate.Rule{Scope: "example.com/agent", Name: "tool *", Group: spangate.BitSandbox},
		otelgate.Rule{Scope: "example.com/agent", Group: spangate.BitAgent},
		otelgate.Rule{Scope: "example.com/verifier", Group: spangate.BitVerify})
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"loop", "tool python", "tool search"} {
		provider.Tracer("example.com/agent").Start(context.Background(), name)
	}
	provider.Tracer("github.com/example/verifier").Start(context.Background(), "verify")

	for scope := range provider.Scopes() {
		fmt.Println(scope.Name)
		for _, site := range scope.Sites {
			group := "always on"
			if site.Gate != nil {
				group = spangate.Gym.Format(site.Group)
			}
			fmt.Printf("  %-6q %s: %d started, %d withheld\n", site.Rule.Name, group, site.Started, site.Withheld)
		}
	}
	for rule := range provider.Unmatched() {
		fmt.Printf("no scope %s; nearest: %s\n", rule.Rule.Scope, rule.Nearest)
	}

	// Output:
	// example.com/agent
	//   "tool *" sandbox: 0 started, 2 withheld
	//   ""     agent: 1 started, 0 withheld
	// github.com/example/verifier
	//   ""     always on: 1 started, 0 withheld
	// no scope example.com/verifier; nearest: github.com/example/verifier
}

// The libraries that a program links are put in one group, its own scopes stay as they are.
func ExampleDiscover() {
	gate := new(spangate.Gate)
	libraries := func(scope string) (*spangate.Gate, spangate.Mask) {
		if strings.HasPrefix(scope, "example.com/program") {
			return nil, 0 // always on
		}
		return gate, spangate.BitSandbox
	}
	provider, err := otelgate.NewTracerProvider(printer{}, gate, otelgate.Discover(libraries))
	if err != nil {
		panic(err)
	}
	task := func() {
		ctx, span := provider.Tracer("example.com/program").Start(context.Background(), "task")
		defer span.End()
		_, span = provider.Tracer("github.com/example/db").Start(ctx, "query")
		defer span.End()
	}
	task()
	gate.Enable(spangate.BitSandbox)
	task()

	// Output:
	// task
	// task
	//   query
}

func ExampleDo() {
	gate := spangate.NewGate(spangate.BitAgent)
	provider, err := otelgate.NewTracerProvider(printer{}, gate)
	if err != nil {
		panic(err)
	}
	agent := provider.Group(spangate.BitAgent).Tracer("example.com/agent")
	sandbox := provider.Group(spangate.BitSandbox).Tracer("example.com/agent")

	err = otelgate.Do(context.Background(), agent, "agent loop", func(ctx context.Context, span trace.Span) error {
		return otelgate.Do(ctx, sandbox, "run tool", func(ctx context.Context, span trace.Span) error {
			return errors.New("no such tool") // recorded where the span is on; this one is off
		})
	})
	fmt.Println("returned:", err)

	// Output:
	// agent loop
	// returned: no such tool
}

func ExampleHTTPRules() {
	for _, r := range otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient) {
		fmt.Println(r.Kind, spangate.Gym.Format(r.Group))
	}

	// Output:
	// server server
	// client http_client
}

// Rules of a file or a variable name groups, which the program looks up in its catalog.
func ExampleParseRules() {
	const text = `
# One rule a line; the first that matches decides.
example.com/sandbox "run tool" = sandbox
example.com/agent* client = agent,sandbox
`
	named, err := otelgate.ParseRules(text)
	if err != nil {
		panic(err)
	}
	rules, err := named.Rules(func(group string) (*spangate.Gate, spangate.Mask) {
		mask, _ := spangate.Gym.Lookup(group)
		return nil, mask // of the provider's gate
	})
	if err != nil {
		panic(err)
	}
	for _, r := range rules {
		fmt.Println(r.Text(spangate.Gym.Format(r.Group)))
	}
	_, err = otelgate.ParseRules("example.com/agent clinet = agent")
	fmt.Println(err)

	// Output:
	// example.com/sandbox "run tool" = sandbox
	// example.com/agent* client = agent,sandbox
	// otelgate: rules, line 1, column 19: invalid rule: "clinet" is nearly client; write that, or "clinet" in double quotes for spans of that name; the rule is "example.com/agent clinet = agent"
}

// A trace with an override has more spans than the others.
func ExampleOverrides() {
	gate := spangate.NewGate(spangate.BitRollout)
	gate.SetReach(spangate.PresetAll) // package control does this
	detail := spangate.NewOverride(spangate.OverrideName{Spec: "all", ID: "d1"},
		func(*spangate.Gate, spangate.Mask) bool { return true }) // a real one ends, and has a budget
	provider, err := otelgate.NewTracerProvider(printer{}, gate,
		otelgate.Overrides(func(_ context.Context, sc trace.SpanContext) *spangate.Override {
			if id := sc.TraceID(); id[15] == 7 {
				return detail
			}
			return nil
		}), otelgate.RemoteShares())
	if err != nil {
		panic(err)
	}
	rollout := provider.Group(spangate.BitRollout).Tracer("example.com/program")
	verify := provider.Group(spangate.BitVerify).Tracer("example.com/program")

	for last := range byte(10) {
		request := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0: 1, 15: last}, SpanID: trace.SpanID{1}})
		ctx := trace.ContextWithRemoteSpanContext(context.Background(), request)
		ctx, span := rollout.Start(ctx, fmt.Sprint("rollout ", last))
		_, inner := verify.Start(ctx, "verify")
		inner.End()
		span.End()
	}

	// Output:
	// rollout 0
	// rollout 1
	// rollout 2
	// rollout 3
	// rollout 4
	// rollout 5
	// rollout 6
	// rollout 7
	//   verify
	// rollout 8
	// rollout 9
}

// The span appears although its group is off.
func ExampleOnError() {
	provider, err := otelgate.NewTracerProvider(printer{}, new(spangate.Gate))
	if err != nil {
		panic(err)
	}
	tools := provider.Group(spangate.BitSandbox).Tracer("example.com/tools")
	for _, tool := range []string{"search", "python"} {
		_ = otelgate.Do(context.Background(), tools, "run "+tool, func(context.Context, trace.Span) error {
			if tool == "python" {
				return errors.New("no such tool")
			}
			return nil
		}, otelgate.OnError())
	}

	// Output: run python
}
