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

// newDriver starts a driver in this process, and its servers.
func newDriver(t *testing.T) *driver {
	d, err := startDriver(context.WithoutCancel(t.Context()), &options{listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.stop())
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return d
}

var maskedGroups = []spangate.Mask{
	spangate.BitServer, spangate.BitHTTPClient, spangate.BitRollout,
	spangate.BitAgent, spangate.BitModelCall, spangate.BitVerify,
}

// roots returns how many spans of a rollout have no span above them that is on.
func roots(m spangate.Mask) int {
	switch {
	case m.HasAny(spangate.BitRollout | spangate.BitHTTPClient | spangate.BitServer):
		return 1 // the others are beneath it
	case m.HasAny(spangate.BitAgent):
		return 1 + m.Without(spangate.BitAgent|spangate.BitModelCall).Count() // verify is not beneath agent
	default:
		return total(m)
	}
}

func total(m spangate.Mask) (spans int) {
	for bit := range m.Bits() {
		spans += spansPerRollout[spangate.Gym.Format(bit)]
	}
	return spans
}

// Under every mask the spans of a rollout are one trace, and no parent is missing. Without the
// job, each rollout is a trace of its own, with several roots where no span is above all others.
// With the job, there is one trace and one root.
func TestEveryMaskKeepsARolloutOneTrace(t *testing.T) {
	d := newDriver(t)
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
			run, spans, err := d.run(t.Context(), slices.Repeat([]step{{spec: spec}}, rollouts))
			require.NoError(t, err)
			received := run.Received
			require.Zero(t, received.Orphans, "spec %q", spec)
			require.True(t, received.OneTraceEach, "spec %q", spec)
			for _, rollout := range received.Rollouts {
				require.Equal(t, RolloutSpans{Spans: total(mask), Traces: min(total(mask), 1)}, rollout, "spec %q", spec)
			}
			if job != 0 {
				require.Equal(t, 1, received.Traces, "spec %q", spec)
				require.Equal(t, 1, received.Roots, "spec %q", spec)
				continue
			}
			require.Equal(t, rollouts*min(total(mask), 1), received.Traces, "spec %q", spec)
			require.Equal(t, rollouts*roots(mask), received.Roots, "spec %q", spec)
			for _, s := range spans {
				require.Equal(t, s.Rollout, s.ID.Trace.String(), "spec %q", spec)
			}
		}
	}
}

// The groups change during rollouts, in one process after another.
func TestChangingTheSpecDuringRolloutsBreaksNoTrace(t *testing.T) {
	d := newDriver(t)
	ctx, cancel := context.WithCancel(t.Context())
	changes := make(chan int, 1)
	go func() {
		n := 0
		for ctx.Err() == nil {
			mask := spangate.Mask(rand.Uint64()) & spangate.PresetAll.Without(spangate.BitJob)
			if err := d.setSpec(ctx, spangate.Gym.Format(mask)); err == nil {
				n++
			}
		}
		changes <- n
	}()
	run, _, err := d.run(t.Context(), slices.Repeat([]step{{spec: "per_rollout"}}, 100))
	cancel()
	assert.Greater(t, <-changes, 10)
	require.NoError(t, err)
	assert.Zero(t, run.Received.Orphans)
	assert.True(t, run.Received.OneTraceEach)
	assert.NotEqual(t, 100*15, run.Received.Spans)
}

// An error of the tool and a wrong answer give no reward; only a bad request fails a rollout.
func TestWrongAnswersGetNoReward(t *testing.T) {
	d := newDriver(t)
	for prompt, answer := range map[string]string{
		"What is 2 plus 2?": "4",
		"What is 7 minus?":  "",
		"":                  "",
	} {
		rollout, err := d.rollout(t.Context(), newRolloutID(), Task{Prompt: prompt, Expected: "4"})
		require.NoError(t, err)
		if answer == "" {
			assert.Zero(t, rollout.Reward)
		} else {
			assert.Equal(t, answer, rollout.Answer)
			assert.Equal(t, 1.0, rollout.Reward)
		}
	}
	_, err := d.rollout(t.Context(), newRolloutID(), Task{Prompt: "What is 1 plus 1?", Expected: "two"})
	assert.ErrorContains(t, err, "the task's expected answer")
	_, err = call[Outcome](t.Context(), d.client, d.agent.url, "/run", "not a task")
	assert.ErrorContains(t, err, fmt.Sprint(http.StatusBadRequest))
}
