// SPDX-License-Identifier: Apache-2.0

package gym_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spangate/spangate/otelsdk/gym"
)

func TestRolloutPrefixIsStrippedAndItsIDIsOnEverySpanOfTheRequest(t *testing.T) {
	long := strings.Repeat("a", 255)
	for _, test := range []struct{ url, id, path, query string }{
		{"/ng-rollout/0-3/v1/responses?a=b", "0-3", "/v1/responses", "a=b"},
		{"/ng-rollout/0-3-a1/training-token-capture/v1/responses", "0-3-a1", "/training-token-capture/v1/responses", ""},
		{"/ng-rollout/A.b_c-9/", "A.b_c-9", "/", ""},
		{"/ng-rollout/" + long + "/verify", long, "/verify", ""},
		{"/ng-rollout/0-3/a%2Fb", "0-3", "/a/b", ""},
		{"/ng-rollout/0-3/ng-rollout/4/verify", "0-3", "/ng-rollout/4/verify", ""},
		{"/verify", "", "/verify", ""},
		{"/", "", "/", ""},
		{"/ng-rollout/0-3", "", "/ng-rollout/0-3", ""},
		{"/ng-rollout//verify", "", "/ng-rollout//verify", ""},
		{"/ng-rollout/.hidden/verify", "", "/ng-rollout/.hidden/verify", ""},
		{"/ng-rollout/../verify", "", "/ng-rollout/../verify", ""},
		{"/ng-rollout/a%20b/verify", "", "/ng-rollout/a b/verify", ""},
		{"/ng-rollout/a%0A/verify", "", "/ng-rollout/a\n/verify", ""},
		{"/ng-rollout/" + long + "a/verify", "", "/ng-rollout/" + long + "a/verify", ""},
		{"/x/ng-rollout/0-3/verify", "", "/x/ng-rollout/0-3/verify", ""},
	} {
		exported := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(gym.RolloutIDs()), sdktrace.WithSyncer(exported))
		called := false
		handler := gym.StripRolloutPrefix(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			called = true
			assert.Equal(t, test.path, r.URL.Path)
			assert.Equal(t, test.query, r.URL.RawQuery)
			assert.Equal(t, test.id, gym.RolloutID(r.Context()))
			ctx, server := provider.Tracer("").Start(r.Context(), "server")
			_, inner := provider.Tracer("").Start(ctx, "inner")
			inner.End()
			server.End()
		}))
		r := httptest.NewRequest(http.MethodPost, test.url, nil)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		require.True(t, called, test.url)
		require.Len(t, exported.GetSpans(), 2)
		for _, s := range exported.GetSpans() {
			if test.id == "" {
				assert.Empty(t, s.Attributes)
			} else {
				assert.Equal(t, []attribute.KeyValue{attribute.String("nemo.gym.rollout.id", test.id)}, s.Attributes)
			}
		}
	}
}

func TestPathsWithEscapesReachTheirHandler(t *testing.T) {
	for path, name := range map[string]string{
		"/ng-rollout/0-3/v1/responses":     "responses",
		"/%6Eg-rollout/0-3/v1/responses":   "responses",
		"/ng%2Drollout/%30-3/v1/responses": "responses",
		"/%6Eg-rollout/0-3/v1/a%2Fb":       "a/b",
		"/ng-rollout%2F0-3/v1/a":           "a",
		"/ng-rollout/0-3%2Fv1/a%20b":       "a b",
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /v1/{name}", func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, name, r.PathValue("name"), path)
			assert.Equal(t, "0-3", gym.RolloutID(r.Context()), path)
		})
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, nil)
		before := *r.URL
		gym.StripRolloutPrefix(mux).ServeHTTP(w, r)
		assert.Equal(t, http.StatusOK, w.Code, path)
		assert.Equal(t, before, *r.URL, "the caller's request stays as it is")
	}
}

func TestNilHandlerAnswersNotFound(t *testing.T) {
	for _, path := range []string{"/verify", "/ng-rollout/0-3/verify"} {
		w := httptest.NewRecorder()
		gym.StripRolloutPrefix(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		assert.Equal(t, http.StatusNotFound, w.Code)
	}
}

func TestRolloutIDMustBeOneThatGymAllows(t *testing.T) {
	ctx, err := gym.ContextWithRolloutID(t.Context(), "0-3")
	require.NoError(t, err)
	assert.Equal(t, "0-3", gym.RolloutID(ctx))
	assert.Equal(t, "/ng-rollout/0-3", gym.RolloutPrefix(ctx))
	for _, id := range []string{"", "-1", "a/b", "a b", "é", "a\n", strings.Repeat("a", 256)} {
		unchanged, err := gym.ContextWithRolloutID(ctx, id)
		assert.ErrorContains(t, err, "must be 1 to 255 letters", "%q", id)
		assert.Less(t, len(err.Error()), 300)
		assert.Equal(t, ctx, unchanged)
	}
	assert.Empty(t, gym.RolloutID(context.Background()))
	assert.Empty(t, gym.RolloutPrefix(context.Background()))
}

func TestResourceIsThatOfGymsPythonProcesses(t *testing.T) {
	for _, name := range []string{"OTEL_SERVICE_NAME", "NEMO_GYM_OTEL_RUN_ID", "NEMO_LENS_RUN_ID", "SLURM_JOB_ID"} {
		t.Setenv(name, "")
	}
	resource := func(server string) map[string]string {
		attributes := make(map[string]string)
		for _, a := range gym.Resource(server) {
			attributes[string(a.Key)] = a.Value.AsString()
		}
		return attributes
	}
	assert.Equal(t, map[string]string{
		"service.name": "nemo-gym/policy_model", "nemo.gym.service_group": "nemo-gym", "nemo.gym.server.name": "policy_model",
	}, resource("policy_model"))
	assert.Equal(t, map[string]string{"service.name": "nemo-gym", "nemo.gym.service_group": "nemo-gym"}, resource(""))

	t.Setenv("OTEL_SERVICE_NAME", "team")
	t.Setenv("SLURM_JOB_ID", "77")
	assert.Equal(t, map[string]string{
		"service.name": "team/agent", "nemo.gym.service_group": "team", "nemo.gym.server.name": "agent", "nemo.run.id": "77",
	}, resource("agent"))
	t.Setenv("NEMO_LENS_RUN_ID", "lens")
	assert.Equal(t, "lens", resource("")["nemo.run.id"])
	t.Setenv("NEMO_GYM_OTEL_RUN_ID", "gym")
	assert.Equal(t, "gym", resource("")["nemo.run.id"])
	t.Setenv("NEMO_GYM_OTEL_RUN_ID", " ")
	assert.Equal(t, "lens", resource("")["nemo.run.id"], "a blank variable is unset")
}

func ExampleStripRolloutPrefix() {
	verify := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, gym.RolloutID(r.Context()))
		fmt.Println("http://policy-model:8000" + gym.RolloutPrefix(r.Context()) + "/v1/responses")
	})
	gym.StripRolloutPrefix(verify).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/ng-rollout/0-3/verify", nil))
	// Output:
	// /verify 0-3
	// http://policy-model:8000/ng-rollout/0-3/v1/responses
}
