// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelsdk/gym"
)

// receiver keeps the exports that it gets by gRPC.
type receiver struct {
	ptraceotlp.UnimplementedGRPCServer
	url string

	mu     sync.Mutex
	traces ptrace.Traces
}

func startReceiver(t *testing.T) *receiver {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &receiver{url: "http://" + listener.Addr().String(), traces: ptrace.NewTraces()}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, r)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	return r
}

func (r *receiver) Export(_ context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request.Traces().ResourceSpans().MoveAndAppendTo(r.traces.ResourceSpans())
	return ptraceotlp.NewExportResponse(), nil
}

// each calls fn for every span received so far.
func (r *receiver) each(fn func(resource pcommon.Map, scope string, s ptrace.Span)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range r.traces.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				fn(resource.Resource().Attributes(), scope.Scope().Name(), s)
			}
		}
	}
}

func TestSpansLookLikeThoseOfNeMoGym(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "team")
	t.Setenv("NEMO_GYM_OTEL_RUN_ID", "run-1")
	r := startReceiver(t)
	report := runJSON(t, "--spec=all", "--rollouts=3", "--otlp", r.url)
	rollouts := make(map[string]int)
	for _, rollout := range report.Runs[0].Rollouts {
		rollouts[rollout.ID] = 16
	}
	spans := make(map[string]map[string]int) // by scope and name
	r.each(func(resource pcommon.Map, scope string, s ptrace.Span) {
		if spans[scope] == nil {
			spans[scope] = make(map[string]int)
		}
		spans[scope][s.Name()]++

		server, ok := resource.Get("nemo.gym.server.name")
		require.True(t, ok)
		assert.Contains(t, []string{"driver", "agent", "model", "resources"}, server.Str())
		assert.Equal(t, map[string]any{
			"service.name": "team/" + server.Str(), "nemo.gym.service_group": "team", "nemo.gym.server.name": server.Str(), "nemo.run.id": "run-1",
		}, resource.AsRaw())

		attributes := s.Attributes().AsRaw()
		if id, ok := attributes["nemo.gym.rollout.id"].(string); ok {
			rollouts[id]--
			delete(attributes, "nemo.gym.rollout.id")
		} else {
			assert.Equal(t, "gym.job", s.Name(), "a span without the rollout's ID")
		}
		if scope == "nemo.gym" {
			assert.Equal(t, ptrace.SpanKindInternal, s.Kind())
			delete(attributes, "nemo.gym.sandbox.provider")
			assert.Empty(t, attributes, s.Name())
		}
	})
	const http = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	assert.Equal(t, map[string]map[string]int{
		"nemo.gym": {
			"gym.job": 1, "gym.rollout": 3, "gym.agent.responses": 3, "gym.model.responses": 6, "gym.verify": 3, "gym.sandbox.exec": 3,
		},
		http: {"HTTP POST": 15, "POST /run": 3, "POST /v1/responses": 6, "POST /tool": 3, "POST /verify": 3},
	}, spans)
	assert.Len(t, rollouts, 3)
	for id, missing := range rollouts {
		assert.Zero(t, missing, "rollout %s", id)
	}
}

// One of the rollouts fails, so that spans have an error.
func TestNoPromptCodeAnswerOrRewardIsInASpan(t *testing.T) {
	r := startReceiver(t)
	d, err := startDriver(context.WithoutCancel(t.Context()), &options{otlp: r.url})
	require.NoError(t, err)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	require.NoError(t, d.setSpec(t.Context(), "all"))
	for _, task := range []Task{
		{Prompt: "What is 987654 times 987654?", Expected: "975460423716"},
		{Prompt: "What is 987654 times times?", Expected: "975460423716"},
		{Prompt: "What is 987654 plus 987654?", Expected: "secretanswer"},
	} {
		_, err = d.rollout(t.Context(), task)
		assert.Equal(t, task.Expected == "secretanswer", err != nil, "%v", err)
	}
	_, _, err = d.batch(t.Context(), []step{{spec: "all"}})
	require.NoError(t, err)
	require.NoError(t, d.stop())

	failed, spans := 0, 0
	r.each(func(_ pcommon.Map, _ string, s ptrace.Span) {
		spans++
		if s.Status().Code() == ptrace.StatusCodeError {
			failed++
		}
	})
	assert.Greater(t, spans, 3*16)
	assert.Positive(t, failed)
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(r.traces)
	require.NoError(t, err)
	for _, content := range []string{"what is", "987654 ", "975460423716", "secret", "reward", "prompt"} {
		assert.NotContains(t, strings.ToLower(string(text)), content)
	}
}

func TestExporterFollowsTheProtocolOfTheEnvironment(t *testing.T) {
	r := startReceiver(t)
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	contentTypes := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		contentTypes <- request.Header.Get("Content-Type")
		c.Handler.ServeHTTP(w, request)
	}))
	defer collector.Close()
	for _, protocol := range []string{"http/protobuf", "http/json", ""} {
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
		runJSON(t, "--spec=default", "--rollouts=1", "--otlp", collector.URL)
		spans, _ := c.take()
		assert.Len(t, spans, 12, protocol)
		expected := protobuf
		if protocol == "http/json" {
			expected = jsonType
		}
		require.NotEmpty(t, contentTypes)
		for range len(contentTypes) {
			assert.Equal(t, expected, <-contentTypes)
		}
	}
	r.each(func(pcommon.Map, string, ptrace.Span) { t.Error("a span by gRPC") })

	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc") // wins over the other
	runJSON(t, "--spec=default", "--rollouts=1", "--otlp", r.url)
	spans := 0
	r.each(func(pcommon.Map, string, ptrace.Span) { spans++ })
	assert.Equal(t, 12, spans)

	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "thrift")
	_, stderr, code := runProgram(t, "--otlp", r.url)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, `"thrift": must be grpc, http/protobuf or http/json`)
}

// A process that stops in the middle of its work exports whole traces, its gated spans included.
func TestSpansOpenWhenAProcessStopsAreTruncated(t *testing.T) {
	r := startReceiver(t)
	telemetry, err := startTelemetry(t.Context(), "agent", r.url)
	require.NoError(t, err)
	telemetry.gate.Store(spangate.PresetAll)
	ctx, run := telemetry.provider.Group(spangate.BitRollout).Tracer(gym.Scope).Start(t.Context(), gym.SpanRollout)
	telemetry.gate.Store(0) // turning its group off does not end a span
	_, off := telemetry.provider.Group(spangate.BitAgent).Tracer(gym.Scope).Start(ctx, gym.SpanAgentResponses)
	telemetry.gate.Store(spangate.BitModelCall)
	_, call := telemetry.provider.Group(spangate.BitModelCall).Tracer(gym.Scope).Start(ctx, gym.SpanModelResponses)
	call.End()
	telemetry.stop()
	off.End()
	run.End()

	parents := make(map[string]pcommon.SpanID)
	r.each(func(_ pcommon.Map, _ string, s ptrace.Span) {
		parents[s.Name()] = s.ParentSpanID()
		_, truncated := s.Attributes().Get("nemo.span.truncated")
		assert.Equal(t, s.Name() == gym.SpanRollout, truncated, s.Name())
	})
	assert.Equal(t, map[string]pcommon.SpanID{
		gym.SpanRollout:        {},
		gym.SpanModelResponses: pcommon.SpanID(run.SpanContext().SpanID()),
	}, parents)
}
