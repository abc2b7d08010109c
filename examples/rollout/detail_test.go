// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control/wire"
)

func TestDetailOneGivesOneOfTenRolloutsTheSpansOfAll(t *testing.T) {
	t.Parallel()
	report := runJSON(t, "--detail-one")
	require.Len(t, report.Runs, 1)
	require.Len(t, report.DetailOne.Rollouts, 10)
	received := report.Runs[0].Received
	assert.Equal(t, 10, received.Traces)
	assert.Equal(t, 10, received.Roots)
	assert.Zero(t, received.Orphans)
	assert.Equal(t, 9*11+16, received.Spans)
	for i, rollout := range report.DetailOne.Rollouts {
		assert.Equal(t, report.Runs[0].Rollouts[i], rollout.Rollout)
		assert.Equal(t, i == 2, rollout.Overridden, i)
		spans, byProcess := 11, map[string]int{"driver": 2, "agent": 5, "model": 2, "resources": 2}
		if rollout.Overridden {
			spans, byProcess = 16, map[string]int{"driver": 2, "agent": 6, "model": 4, "resources": 4}
		}
		assert.Equal(t, RolloutSpans{Spans: spans, Traces: 1}, rollout.RolloutSpans, i)
		assert.Equal(t, byProcess, rollout.ByProcess, i)
	}
}

func TestOneRolloutAloneIsInDetail(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runProgram(t, "--detail-one", "--rollouts=1")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "1 rollout, 16 spans, 1 trace")
}

// A span that enters a process is a root, or its parent is of another process.
func TestOverrideIsOnTheFirstSpanOfTheTraceInEachProcess(t *testing.T) {
	d := newDriver(t)
	r, spans, err := d.detailOne(t.Context(), 4)
	require.NoError(t, err)
	processes := make(map[spanID]string)
	for _, s := range spans {
		processes[s.ID] = s.Process
	}
	byProcess := make(map[string]int)
	byGroup := make(map[string]int)
	id := ""
	for _, s := range spans {
		overridden := s.Rollout == r.Rollouts[2].ID
		assert.Equal(t, overridden && processes[s.Parent] != s.Process, s.Override != "", "%s of %s", s.Name, s.Process)
		if overridden {
			byGroup[s.Group]++
		}
		if s.Override != "" {
			byProcess[s.Process]++
			if id == "" {
				id = s.Override
			}
			assert.Equal(t, id, s.Override)
		}
	}
	assert.Equal(t, map[string]int{"driver": 1, "agent": 1, "model": 2, "resources": 2}, byProcess)
	assert.Equal(t, spansPerRollout, byGroup)
	assert.Empty(t, d.processes[0].state(t).Leases)
}

// A lease of the process in which traces begin is enough.
func TestShareOfTracesIsInDetailInEveryProcess(t *testing.T) {
	d := newDriver(t)
	require.NoError(t, d.setSpec(t.Context(), "rollout"))
	lease, err := d.processes[0].spans.Lease(t.Context(), wire.LeaseRequest{Owner: "test", Spec: "all", Share: "100%", TTL: "1m"})
	require.NoError(t, err)
	all := map[string]int{"job": 1}
	for group, n := range spansPerRollout {
		all[group] = 2 * n
	}
	run, spans, err := d.batch(t.Context(), []step{{}, {}})
	require.NoError(t, err)
	assert.Equal(t, all, run.Received.ByGroup)
	assert.Equal(t, 1, run.Received.Traces)
	assert.Zero(t, run.Received.Orphans)
	for _, s := range spans {
		assert.True(t, s.Override == "" || strings.HasPrefix(s.Override, lease.ID+"-"), s.Override)
	}
	_, err = d.processes[0].spans.Release(t.Context(), lease.ID)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"rollout": 1}, rolloutSpans(t, d))
}

func TestShortKeyIsRefusedByName(t *testing.T) {
	t.Setenv(keyVariable, "short")
	_, stderr, code := runProgram(t, "--spec=all")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, keyVariable)
	assert.Contains(t, stderr, "32")
	assert.NotContains(t, stderr, "short", "a key is a secret")
}
