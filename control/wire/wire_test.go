// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control/wire"
)

// TestShapeIsAsDocumented pins every field of every answer, by an example of each. A change
// of testdata/shapes.json that does more than add breaks clients.
func TestShapeIsAsDocumented(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	base := wire.Baseline{Spec: "default,layer", AllowPending: true, Who: "environment", Why: "NEMO_GYM_OTEL_SPAN_GROUPS"}
	lease := wire.Lease{ID: "x7k2m9q4t1abc", Owner: "me", Spec: "sandbox,agent", Quiet: "job", Share: "0.1%", Match: "customer=42", Revoke: "y7k2m9q4t1abc.1a2b", Why: "it is slow", Groups: []string{"agent", "sandbox"}, Quieted: []string{"job"}, StillOn: []string{},
		Withheld: []string{"agent"}, Pending: []string{}, Start: at, End: at.Add(5 * time.Minute), Left: "5m0s"}
	spans := wire.Spans{Started: "18446744073709551615", PerSecond: 1.5, Withheld: "7"}
	got, err := json.MarshalIndent(map[string]any{
		"state": wire.State{
			Baseline: base, Startup: base, Generation: "k3x9q2mw-7", Now: at, Writable: true, Pinned: true,
			File: &wire.File{Path: "/etc/shop/spans", Problem: "it is blank"}, Deny: "agent", Ceiling: "all",
			Enabled: []string{"job", "sandbox"}, Roots: []string{"server"}, Pending: []string{"layer"},
			Groups: []wire.Group{{Name: "sandbox", On: true, Leases: []string{lease.ID}, Details: []string{lease.ID}, Quiet: []string{lease.ID}, Members: []wire.Member{{Namespace: "nemo_gym", Bit: 14, Doc: "running code"}}, Spans: &spans}},
			Scopes: []wire.Scope{{Name: "github.com/XSAM/otelsql", Spans: spans, Sites: []wire.Site{{Rule: "github.com/XSAM/otelsql* client = sandbox", SpanName: "sql.*", Kind: "client",
				Groups: []string{"sandbox"}, On: true, Spans: spans}}}},
			Unmatched: []wire.UnmatchedRule{{Rule: "github.com/XSAM/otelsq = sandbox", Nearest: "github.com/XSAM/otelsql"}},
			Presets:   []wire.Preset{{Name: "all", State: wire.Mixed, Groups: []string{"agent", "job", "sandbox"}, Doc: "every group"}},
			Leases:    []wire.Lease{lease},
			Overrides: wire.Overrides{Admitted: true, Live: 3, Chosen: "18446744073709551615", Received: "7", Started: "80", Sampled: "8", Cut: []wire.Count{{Reason: wire.CutTraces, Count: "2"}},
				Refused: []wire.Count{{Reason: wire.RefusedExpired, Count: "5"}}, MaxTraces: 1000, MaxSpansPerSecond: 1000, MaxSpansPerTrace: 10_000, MaxTime: "1h0m0s"},
			Changes: []wire.Change{{Generation: "k3x9q2mw-7", Time: at, Kind: wire.KindLease, Who: "me", Why: "it is slow", Old: []string{"job"}, New: []string{"job", "sandbox"}}},
			MaxTTL:  "24h0m0s", MaxLeases: 10_000,
		},
		"lease_request": wire.LeaseRequest{Spec: "all", Quiet: "job", Share: "0.1%", Match: "customer=42", Revoke: "y7k2m9q4t1abc.1a2b", Owner: "me", TTL: "5m", Why: "it is slow", AllowPending: true},
		"lease_patch":   wire.LeasePatch{TTL: "5m"},
		"error": wire.Error{Message: "what is wrong", Code: wire.CodeUnknownName, Field: "spec", Offset: 7, Unknown: []wire.UnknownName{{Name: "rollouts", Offset: 4, Suggestion: "rollout"}},
			Valid: []string{"all"}, Accept: []string{"application/json"}, Generation: "k3x9q2mw-7"},
	}, "", "  ")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/shapes.json")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n")
}
