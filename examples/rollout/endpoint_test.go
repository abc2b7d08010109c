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
	"github.com/spangate/spangate/control/wire"
)

// spansOfARollout runs a rollout and returns what it was seen to do.
func spansOfARollout(t *testing.T, d *driver, c *collector) *Received {
	run, _, err := d.batch(t.Context(), c, []step{{}})
	require.NoError(t, err)
	return run.Received
}

func TestBadSpecIsRefusedByItsPlaceAndChangesNothing(t *testing.T) {
	d, c := startDriver(t)
	require.NoError(t, d.operator.set(t.Context(), "server"))
	for _, p := range d.operator.processes {
		before, err := d.operator.state(t.Context(), p)
		require.NoError(t, err)
		for _, test := range []struct {
			spec string
			code string
			bad  []wire.UnknownName
		}{
			{"server,servers", wire.CodeUnknownName, []wire.UnknownName{{Name: "servers", Offset: 7, Suggestion: "server"}}},
			{"all,-verfy, weather", wire.CodeUnknownName, []wire.UnknownName{{Name: "verfy", Offset: 5, Suggestion: "verify"}, {Name: "weather", Offset: 12}}},
			{"server,-", wire.CodeUnknownName, []wire.UnknownName{{Offset: 8}}},
			{strings.Repeat("server,", 10<<10), wire.CodeTooLarge, nil},
		} {
			_, err := ask[wire.State](t.Context(), d.operator, http.MethodPut, p.spans(), wire.Baseline{Spec: test.spec})
			var refused *refusal
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, test.code, refused.body.Code)
			assert.Equal(t, test.bad, refused.body.Unknown)
			_, err = d.operator.lease(t.Context(), p, test.spec, time.Minute)
			assert.ErrorAs(t, err, &refused)
		}
		after, err := d.operator.state(t.Context(), p)
		require.NoError(t, err)
		assert.Equal(t, before.Generation, after.Generation)
	}
	assert.Equal(t, map[string]int{"server": 5}, spansOfARollout(t, d, c).ByGroup)
}

func TestNothingChangesWithoutTheToken(t *testing.T) {
	d, c := startDriver(t)
	require.NoError(t, d.operator.set(t.Context(), "server"))
	for _, token := range []string{"", "another"} {
		stranger := newOperator(token, d.operator.processes...)
		for _, p := range stranger.processes {
			for _, forbidden := range []func() error{
				func() error { return stranger.set(t.Context(), "all") },
				func() error { _, err := stranger.lease(t.Context(), p, "all", time.Minute); return err },
				func() error { _, err := stranger.release(t.Context(), p, "any"); return err },
			} {
				var refused *refusal
				require.ErrorAs(t, forbidden(), &refused)
				assert.Equal(t, http.StatusUnauthorized, refused.status)
			}
			state, err := stranger.state(t.Context(), p) // who may look is another question
			require.NoError(t, err)
			assert.Equal(t, []string{"server"}, state.Enabled)
		}
	}
	assert.Equal(t, map[string]int{"server": 5}, spansOfARollout(t, d, c).ByGroup)
}

func TestLeaseOfOneServerEndsByItselfOrIsReleased(t *testing.T) {
	d, c := startDriver(t)
	model, resources := d.fleet.model, d.fleet.resources
	require.NoError(t, d.operator.set(t.Context(), "rollout"))
	bare, leased := map[string]int{"rollout": 1}, map[string]int{"rollout": 1, "sandbox": 1}
	require.Equal(t, bare, spansOfARollout(t, d, c).ByGroup)

	granted, err := d.operator.lease(t.Context(), resources, "sandbox,model_call", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, leased, spansOfARollout(t, d, c).ByGroup, "one server's, and no other's")
	require.NoError(t, d.operator.set(t.Context(), "rollout"))
	assert.Equal(t, leased, spansOfARollout(t, d, c).ByGroup, "the lease outlives a change of the baseline")
	_, err = d.operator.release(t.Context(), resources, granted.ID)
	require.NoError(t, err)
	assert.Equal(t, bare, spansOfARollout(t, d, c).ByGroup)

	_, err = d.operator.lease(t.Context(), model, "model_call", 10*time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, d.operator.untilUnleased(t.Context(), model))
	assert.Equal(t, bare, spansOfARollout(t, d, c).ByGroup)
	state, err := d.operator.state(t.Context(), model)
	require.NoError(t, err)
	assert.Equal(t, wire.KindExpiry, state.Changes[0].Kind)
	assert.Equal(t, []string{"rollout"}, state.Changes[0].New)
}

// The page comes with the endpoint, and what the program itself serves is still there.
func TestEveryProcessHasAPageBesideItsWork(t *testing.T) {
	d, _ := startDriver(t)
	for _, p := range d.operator.processes {
		for _, url := range []string{p.spans(), strings.TrimSuffix(p.spans(), "/")} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			require.NoError(t, err)
			request.Header.Set("Accept", "text/html")
			response, err := d.operator.client.Do(request)
			require.NoError(t, err)
			response.Body.Close()
			assert.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
		}
	}
	_, err := d.rollout(t.Context(), tasks[0])
	assert.NoError(t, err)
}

// A person at the command line or the example's own list goes before what the environment has
// for every job; that is what each process starts with and can be reset to.
func TestSpecOfTheDemoGoesBeforeTheEnvironments(t *testing.T) {
	t.Setenv(control.EnvGymEnabled, "yes")
	t.Setenv(control.EnvLensSpanGroups, "sandbox")
	d, c := startDriver(t)
	assert.Equal(t, map[string]int{"sandbox": 1}, spansOfARollout(t, d, c).ByGroup)
	require.NoError(t, d.operator.set(t.Context(), "server"))
	assert.Equal(t, map[string]int{"server": 5}, spansOfARollout(t, d, c).ByGroup)

	t.Setenv(control.EnvGymEnabled, "perhaps")
	_, stderr, code := ended(t, "--spec=all")
	assert.Equal(t, 1, code)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.Contains(t, stderr, fmt.Sprintf(`"%s=perhaps"`, control.EnvGymEnabled))
}

func TestGateStartsWithNothingOn(t *testing.T) {
	gate, c, err := newGate()
	require.NoError(t, err)
	assert.Equal(t, spangate.Mask(0), gate.Load())
	assert.NoError(t, c.Close())
}
