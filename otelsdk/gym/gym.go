// SPDX-License-Identifier: Apache-2.0

// Package gym makes the spans of a Go process look like those of NeMo Gym's Python processes, so
// that one query finds both: the names of spans, the scope, the resource, and the rollout's ID.
//
// In Gym the ID of a rollout comes with a request, as a prefix of its path:
// /ng-rollout/ID/v1/responses. [StripRolloutPrefix] puts it into the context of the request,
// [RolloutIDs] puts it on every span that starts in that context, and [RolloutPrefix] returns the
// prefix for the next request.
//
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithResource(resource.NewSchemaless(gym.Resource("policy_model")...)),
//		sdktrace.WithSpanProcessor(gym.RolloutIDs()),
//		sdktrace.WithSpanProcessor(otelsdk.EndOpenSpans(sdktrace.NewBatchSpanProcessor(exporter))))
//	tracer := provider.Tracer(gym.Scope)
//	handler = gym.StripRolloutPrefix(otelhttp.NewHandler(handler, ""))
//
// Gym puts no prompt, code, answer or reward into a span, nor an error that quotes one. Do the same.
package gym

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Scope is the instrumentation scope of Gym's spans.
const Scope = "nemo.gym"

// The names of Gym's spans, after the groups that turn them on. Those of the groups server and
// http_client come from the HTTP libraries: "POST /verify", "HTTP POST".
const (
	SpanJob            = "gym.job"             // job
	SpanRollout        = "gym.rollout"         // rollout
	SpanAgentResponses = "gym.agent.responses" // agent
	SpanModelResponses = "gym.model.responses" // model_call
	SpanVerify         = "gym.verify"          // verify
	SpanSandboxExec    = "gym.sandbox.exec"    // sandbox
)

// The attributes of Gym's spans, and those of its resources beside service.name.
const (
	RolloutIDKey       = attribute.Key("nemo.gym.rollout.id")
	SandboxProviderKey = attribute.Key("nemo.gym.sandbox.provider")

	ServerNameKey   = attribute.Key("nemo.gym.server.name")
	ServiceGroupKey = attribute.Key("nemo.gym.service_group")
	RunIDKey        = attribute.Key("nemo.run.id")
)

// EnvRunID is the environment variable with the ID of the run, which Gym sets in the processes
// that it starts.
const EnvRunID = "NEMO_GYM_OTEL_RUN_ID"

// Resource returns the attributes of the resource of a process, where server is its name in Gym's
// configuration. service.name is GROUP/server, where GROUP is OTEL_SERVICE_NAME, or nemo-gym if
// that is blank; with an empty server it is GROUP, and nemo.gym.server.name is absent. nemo.run.id
// is the first of NEMO_GYM_OTEL_RUN_ID, NEMO_LENS_RUN_ID and SLURM_JOB_ID that is not blank;
// without one it is absent. In a merge with other resources this service.name must win.
func Resource(server string) []attribute.KeyValue {
	group := cmp.Or(env("OTEL_SERVICE_NAME"), "nemo-gym")
	attributes := []attribute.KeyValue{ServiceGroupKey.String(group)}
	name := group
	if server != "" {
		name += "/" + server
		attributes = append(attributes, ServerNameKey.String(server))
	}
	attributes = append(attributes, attribute.String("service.name", name))
	if run := cmp.Or(env(EnvRunID), env("NEMO_LENS_RUN_ID"), env("SLURM_JOB_ID")); run != "" {
		attributes = append(attributes, RunIDKey.String(run))
	}
	return attributes
}

func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// rolloutID matches the IDs that Gym allows, which are names of files too. The length is bounded, since
// requests bring IDs.
var rolloutID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)

type contextKey struct{}

// ContextWithRolloutID returns ctx with the ID of a rollout. It is for code that starts a rollout, or
// gets the ID from the body of a request, as an agent's /run does. It returns an error and ctx if id
// is not 1 to 255 letters, digits, dots, dashes and underscores, the first a letter or digit.
func ContextWithRolloutID(ctx context.Context, id string) (context.Context, error) {
	if !rolloutID.MatchString(id) {
		return ctx, fmt.Errorf("gym: rollout ID %.80q: must be 1 to 255 letters, digits, dots, dashes and underscores, the first a letter or digit", id)
	}
	return context.WithValue(ctx, contextKey{}, id), nil
}

// RolloutID returns the ID of the rollout in ctx, or an empty string.
func RolloutID(ctx context.Context) string {
	id, _ := ctx.Value(contextKey{}).(string)
	return id
}

const pathPrefix = "/ng-rollout/"

// RolloutPrefix returns /ng-rollout/ID, to put before the path of a request to a model or resources
// server, or to an agent's /v1/responses. It returns an empty string if ctx has no ID.
func RolloutPrefix(ctx context.Context) string {
	if id := RolloutID(ctx); id != "" {
		return pathPrefix + id
	}
	return ""
}

// StripRolloutPrefix returns a handler that calls next. For a request whose path is
// /ng-rollout/ID/REST, next gets the path /REST, and the ID in the context; any other request is
// passed on as it is. Put it around the handler that starts the server's span, so that this span has
// the ID and the shorter path. The client chooses the ID, so it must not authorize anything.
// A nil next answers 404.
func StripRolloutPrefix(next http.Handler) http.Handler {
	if next == nil {
		next = http.NotFoundHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, prefixed := strings.CutPrefix(r.URL.Path, pathPrefix)
		id, _, found := strings.Cut(path, "/")
		if prefixed && found {
			if ctx, err := ContextWithRolloutID(r.Context(), id); err == nil {
				http.StripPrefix(pathPrefix+id, next).ServeHTTP(w, r.WithContext(ctx))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// RolloutIDs returns a span processor that puts [RolloutIDKey] on every span that starts in a
// context with a rollout's ID. Gym's Python processes put it on their own and their clients' spans.
func RolloutIDs() sdktrace.SpanProcessor { return rolloutIDs{} }

type rolloutIDs struct{}

var _ sdktrace.SpanProcessor = rolloutIDs{}

func (rolloutIDs) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if id := RolloutID(parent); id != "" {
		s.SetAttributes(RolloutIDKey.String(id))
	}
}

func (rolloutIDs) OnEnd(sdktrace.ReadOnlySpan)      {}
func (rolloutIDs) Shutdown(context.Context) error   { return nil }
func (rolloutIDs) ForceFlush(context.Context) error { return nil }
