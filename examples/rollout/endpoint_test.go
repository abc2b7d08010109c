// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// rolloutSpans runs a rollout and returns how many spans it has, by group.
func rolloutSpans(t *testing.T, d *driver) map[string]int {
	run, _, err := d.batch(t.Context(), []step{{}})
	require.NoError(t, err)
	return run.Received.ByGroup
}

func (p *process) lease(t *testing.T, spec string, ttl time.Duration) (*client.Lease, error) {
	return p.spans.Lease(t.Context(), wire.LeaseRequest{Owner: "test", Spec: spec, TTL: ttl.String()})
}

func (p *process) state(t *testing.T) *client.State {
	state, err := p.spans.State(t.Context())
	require.NoError(t, err)
	return state
}

func TestBadSpecIsRefusedWithItsOffsetAndChangesNothing(t *testing.T) {
	d := newDriver(t)
	require.NoError(t, d.setSpec(t.Context(), "server"))
	for _, p := range d.processes {
		before := p.state(t)
		for _, test := range []struct {
			spec    string
			code    string
			unknown []wire.UnknownName
		}{
			{"server,servers", wire.CodeUnknownName, []wire.UnknownName{{Name: "servers", Offset: 7, Suggestion: "server"}}},
			{"all,-verfy, weather", wire.CodeUnknownName, []wire.UnknownName{{Name: "verfy", Offset: 5, Suggestion: "verify"}, {Name: "weather", Offset: 12}}},
			{"server,-", wire.CodeUnknownName, []wire.UnknownName{{Offset: 8}}},
			{strings.Repeat("server,", 10<<10), wire.CodeTooLarge, nil},
		} {
			_, baselineErr := p.spans.SetBaseline(t.Context(), wire.Baseline{Spec: test.spec})
			_, leaseErr := p.lease(t, test.spec, time.Minute)
			for _, err := range []error{baselineErr, leaseErr} {
				var refused *client.Error
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, test.code, refused.Refusal.Code)
				assert.Equal(t, test.unknown, refused.Refusal.Unknown)
			}
		}
		assert.Equal(t, before.Generation, p.state(t).Generation)
	}
	assert.Equal(t, map[string]int{"server": 5}, rolloutSpans(t, d))
}

func TestNothingChangesWithoutTheToken(t *testing.T) {
	d := newDriver(t)
	require.NoError(t, d.setSpec(t.Context(), "server"))
	for _, token := range []string{"", "another"} {
		for _, p := range d.processes {
			p, err := newProcess(p.role, p.pid, p.url, token)
			require.NoError(t, err)
			_, baselineErr := p.spans.SetBaseline(t.Context(), wire.Baseline{Spec: "all"})
			_, leaseErr := p.lease(t, "all", time.Minute)
			_, releaseErr := p.spans.Release(t.Context(), "any")
			for _, err := range []error{baselineErr, leaseErr, releaseErr} {
				var refused *client.Error
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, http.StatusUnauthorized, refused.Status)
			}
			assert.Equal(t, []string{"server"}, p.state(t).Enabled, "reading needs no token")
		}
	}
	assert.Equal(t, map[string]int{"server": 5}, rolloutSpans(t, d))
}

func TestLeaseOfOneServerExpiresOrIsReleased(t *testing.T) {
	d := newDriver(t)
	require.NoError(t, d.setSpec(t.Context(), "rollout"))
	bare, leased := map[string]int{"rollout": 1}, map[string]int{"rollout": 1, "sandbox": 1}
	require.Equal(t, bare, rolloutSpans(t, d))

	granted, err := d.resources.lease(t, "sandbox,model_call", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, leased, rolloutSpans(t, d), "only the spans of that server")
	require.NoError(t, d.setSpec(t.Context(), "rollout"))
	assert.Equal(t, leased, rolloutSpans(t, d), "the lease outlives a change of the baseline")
	_, err = d.resources.spans.Release(t.Context(), granted.ID)
	require.NoError(t, err)
	assert.Equal(t, bare, rolloutSpans(t, d))

	_, err = d.model.lease(t, "model_call", 10*time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, d.model.awaitExpiry(t.Context()))
	assert.Equal(t, bare, rolloutSpans(t, d))
	change := d.model.state(t).Changes[0]
	assert.Equal(t, wire.KindExpiry, change.Kind)
	assert.Equal(t, []string{"rollout"}, change.New)
}

// State lists the groups that are off and whose spans would begin a trace.
func TestStateShowsRootsThatAreOff(t *testing.T) {
	d := newDriver(t)
	require.NoError(t, d.setSpec(t.Context(), "agent,verify"))
	require.Equal(t, map[string]int{"agent": 1, "verify": 1}, rolloutSpans(t, d))
	assert.Contains(t, d.agent.state(t).Roots, "server")
	assert.Contains(t, d.resources.state(t).Roots, "server")
	require.NoError(t, d.setSpec(t.Context(), "server,agent,verify"))
	assert.NotContains(t, d.agent.state(t).Roots, "server")
}

func TestEveryProcessHasAPageBesideItsWork(t *testing.T) {
	d := newDriver(t)
	for _, p := range d.processes {
		for _, url := range []string{p.url + spansPath, strings.TrimSuffix(p.url+spansPath, "/")} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			require.NoError(t, err)
			request.Header.Set("Accept", "text/html")
			response, err := untraced.Do(request)
			require.NoError(t, err)
			response.Body.Close()
			assert.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
		}
	}
	_, err := d.rollout(t.Context(), newRolloutID(), tasks[0])
	assert.NoError(t, err)
}

// A process starts with the spec of the environment, until the driver sets another.
func TestSpecOfTheDriverReplacesThatOfTheEnvironment(t *testing.T) {
	t.Setenv(control.EnvGymEnabled, "yes")
	t.Setenv(control.EnvLensSpanGroups, "sandbox")
	d := newDriver(t)
	assert.Equal(t, map[string]int{"sandbox": 1}, rolloutSpans(t, d))
	require.NoError(t, d.setSpec(t.Context(), "server"))
	assert.Equal(t, map[string]int{"server": 5}, rolloutSpans(t, d))

	t.Setenv(control.EnvGymEnabled, "perhaps")
	_, stderr, code := runProgram(t, "--spec=all")
	assert.Equal(t, 1, code)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.Contains(t, stderr, fmt.Sprintf(`"%s=perhaps"`, control.EnvGymEnabled))
}

func TestGateStartsWithNothingOn(t *testing.T) {
	telemetry, err := startTelemetry(t.Context(), "test", "")
	require.NoError(t, err)
	assert.Equal(t, spangate.Mask(0), telemetry.gate.Load())
	telemetry.stop()
}
