// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// startDriver starts a fleet of processes, with the driver in this one.
func startDriver(t *testing.T) (*driver, *collector) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	telemetry, err := startTelemetry(t.Context(), "driver", c.url)
	require.NoError(t, err)
	const token = "of the tests"
	e, err := startEndpoint(telemetry, token, http.NotFoundHandler())
	require.NoError(t, err)
	f, err := startFleet(context.WithoutCancel(t.Context()), c.url, token)
	require.NoError(t, err)
	o := newOperator(token, &process{role: "driver", url: e.url}, f.agent, f.model, f.resources)
	t.Cleanup(func() {
		assert.NoError(t, f.stop())
		assert.NoError(t, e.stop())
		telemetry.stop()
		c.stop()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return newDriver(telemetry, f, o), c
}

var maskedGroups = []spangate.Mask{
	spangate.BitServer, spangate.BitHTTPClient, spangate.BitRollout,
	spangate.BitAgent, spangate.BitModelCall, spangate.BitVerify,
}

// roots is how many spans of a rollout have no span above them that is on.
func roots(m spangate.Mask) int {
	switch {
	case m.HasAny(spangate.BitRollout | spangate.BitHTTPClient | spangate.BitServer):
		return 1 // around everything beneath
	case m.HasAny(spangate.BitAgent):
		return 1 + m.Without(spangate.BitAgent|spangate.BitModelCall).Count() // and verify beside it
	default:
		return total(m)
	}
}

func total(m spangate.Mask) (spans int) {
	for bit := range m.Bits() {
		spans += ofOneRollout[spangate.Gym.Format(bit)]
	}
	return spans
}

// Whichever of a rollout's groups are on, its spans are one trace, and every span that names
// a parent has it there. Without the job, each rollout is a trace of its own; where no span of
// it is above all others, the trace has several roots. With the job, there is one trace and
// one root.
func TestEveryMaskKeepsARolloutOneTrace(t *testing.T) {
	d, c := startDriver(t)
	const rollouts = 2
	for _, job := range []spangate.Mask{0, spangate.BitJob} {
		for n := range 1 << len(maskedGroups) {
			mask := spangate.Mask(0)
			for i, group := range maskedGroups {
				if n>>i&1 == 1 {
					mask = mask.With(group)
				}
			}
			spec := spangate.Gym.Format(mask.With(job))
			run, spans, err := d.run(t.Context(), c, slices.Repeat([]step{{spec: spec}}, rollouts))
			require.NoError(t, err)
			got := run.Received

			require.Zero(t, got.Orphans, "spec %q", spec)
			require.True(t, got.OneTraceEach, "spec %q", spec)
			for _, rollout := range got.Rollouts {
				require.Equal(t, RolloutSpans{Spans: total(mask), Traces: min(total(mask), 1)}, rollout, "spec %q", spec)
			}
			if job != 0 {
				require.Equal(t, 1, got.Traces, "spec %q", spec)
				require.Equal(t, 1, got.Roots, "spec %q", spec)
				continue
			}
			require.Equal(t, rollouts*min(total(mask), 1), got.Traces, "spec %q", spec)
			require.Equal(t, rollouts*roots(mask), got.Roots, "spec %q", spec)
			for _, s := range spans {
				require.Equal(t, s.Rollout, s.ID.Trace.String(), "spec %q", spec)
			}
		}
	}
}

// No moment is a bad one: the groups change while rollouts are under way, in one process after
// the other.
func TestChangingTheSpecInTheMiddleOfRolloutsBreaksNoTrace(t *testing.T) {
	d, c := startDriver(t)
	ctx, cancel := context.WithCancel(t.Context())
	changes := make(chan int, 1)
	go func() {
		n := 0
		for ctx.Err() == nil {
			mask := spangate.Mask(rand.Uint64()) & spangate.PresetAll.Without(spangate.BitJob)
			if err := d.operator.set(ctx, spangate.Gym.Format(mask)); err == nil {
				n++
			}
		}
		changes <- n
	}()
	run, _, err := d.run(t.Context(), c, slices.Repeat([]step{{spec: "per_rollout"}}, 100))
	cancel()
	assert.Greater(t, <-changes, 10)
	require.NoError(t, err)
	assert.Zero(t, run.Received.Orphans)
	assert.True(t, run.Received.OneTraceEach)
	assert.NotEqual(t, 100*15, run.Received.Spans)
}

// What a tool or a model gets wrong is the model's to see or the reward's to show; only a
// broken request fails a rollout.
func TestWrongAnswersEarnNothing(t *testing.T) {
	d, _ := startDriver(t)
	for prompt, answer := range map[string]string{
		"What is 2 plus 2?": "4",
		"What is 7 minus?":  "",
		"":                  "",
	} {
		rollout, err := d.rollout(t.Context(), Task{Prompt: prompt, Expected: "4"})
		require.NoError(t, err)
		if answer == "" {
			assert.Zero(t, rollout.Reward)
		} else {
			assert.Equal(t, answer, rollout.Answer)
			assert.Equal(t, 1.0, rollout.Reward)
		}
	}
	_, err := d.rollout(t.Context(), Task{Prompt: "What is 1 plus 1?", Expected: "two"})
	assert.ErrorContains(t, err, "the task's expected answer")
	_, err = call[Outcome](t.Context(), d.client, d.fleet.agent.url+"/run", "not a task")
	assert.ErrorContains(t, err, fmt.Sprint(http.StatusBadRequest))
}
