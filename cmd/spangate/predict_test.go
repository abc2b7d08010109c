// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// The process is the oracle: it makes each change that was predicted.
func TestDryRunIsWhatTheChangeDoes(t *testing.T) {
	p := startProcess(t)
	c, err := client.New(p.url())
	require.NoError(t, err)
	r := &remote{program: &program{}, Client: c, ctx: t.Context()}
	names := rapid.SampledFrom([]string{"default", "per_rollout", "all", "job", "server", "sandbox", "agent", "-job", "-server", "-per_rollout", "later", "-later", "Verify", ""})
	specs := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(names, 0, 4).Draw(t, "names"), ",")
	})
	rapid.Check(t, func(t *rapid.T) {
		spec, ceiling := specs.Draw(t, "spec"), ""
		if rapid.Bool().Draw(t, "limited") {
			ceiling = "all," + specs.Draw(t, "ceiling")
		}
		require.NoError(t, p.SetLimits(control.Limits{Deny: specs.Draw(t, "deny"), Ceiling: ceiling}))
		require.NoError(t, p.SetBaseline(control.Baseline{Spec: specs.Draw(t, "baseline"), AllowPending: true}))
		for range rapid.IntRange(0, 3).Draw(t, "leases") {
			l, err := p.Lease(control.LeaseRequest{Owner: "ann", Spec: specs.Draw(t, "adds"), Quiet: specs.Draw(t, "quiets"), TTL: time.Hour, AllowPending: true})
			if err == nil {
				defer func() { require.NoError(t, l.Release()) }()
			}
		}
		cmd := rapid.SampledFrom([]string{"set", "lease", "quiet"}).Draw(t, "command")
		allowPending := rapid.Bool().Draw(t, "allow pending")
		before := p.State().Enabled
		a, predicted := r.predict(cmd, spec, "bob", allowPending)
		require.Equal(t, before, p.State().Enabled, "a dry run changes nothing")

		lease := wire.LeaseRequest{Owner: "bob", TTL: "1h", AllowPending: allowPending}
		switch cmd {
		case "set":
			_, err = c.SetBaseline(t.Context(), wire.Baseline{Spec: spec, AllowPending: allowPending})
		case "lease":
			lease.Spec = spec
		case "quiet":
			lease.Quiet = spec
		}
		if cmd != "set" {
			var l *client.Lease
			if l, err = c.Lease(t.Context(), lease); err == nil {
				defer func() { _, _ = c.Release(t.Context(), l.ID) }()
			}
		}
		if predicted != nil || err != nil {
			require.Error(t, predicted, "%v", err)
			require.Error(t, err, "%v", predicted)
			exit, e := outcome(predicted)
			wantExit, want := outcome(err)
			assert.Equal(t, wantExit, exit, "%v: %v", predicted, err)
			assert.Equal(t, want.Unknown, e.Unknown)
			return
		}
		got, state := a.value.(prediction), p.State()
		assert.Equal(t, before, got.Old)
		assert.Equal(t, state.Enabled, got.New)
		for i, g := range state.Groups {
			predicted := got.Groups[i]
			assert.Equal(t, []any{g.On, g.Baseline, len(g.Leases), len(g.Quiet), g.Withheld}, []any{predicted.On, predicted.Baseline, len(predicted.Leases), len(predicted.Quiet), predicted.Withheld}, g.Name)
		}
	})
}
