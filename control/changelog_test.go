// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

func TestEveryChangeSaysWhatWasWhatIsWhoAndWhy(t *testing.T) {
	var log bytes.Buffer
	f := newFixture(t, control.Start(control.Baseline{Spec: "job", Who: "environment", Why: "X"}), control.Logger(slog.New(slog.NewJSONHandler(&log, nil))))
	l, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox", TTL: time.Minute, Why: "it is slow"})
	require.NoError(t, err)
	require.NoError(t, l.Renew(time.Hour))
	require.NoError(t, f.SetBaseline(control.Baseline{Spec: "step", Who: "you", Why: "training"}))
	require.NoError(t, f.SetLimits(control.Limits{Deny: "step", Who: "admin"}))
	require.NoError(t, l.Release())
	require.NoError(t, f.ResetBaseline("you", ""))

	want := []control.Change{
		{Kind: wire.KindBaseline, Who: "environment", Why: "X", Old: []string{}, New: []string{"job"}},
		{Kind: wire.KindLease, Who: "me", Why: "lease " + l.ID() + " for 1m0s: it is slow", Old: []string{"job"}, New: []string{"job", "sandbox"}},
		{Kind: wire.KindRenewal, Who: "me", Why: "lease " + l.ID() + " for another 1h0m0s", Old: []string{"job", "sandbox"}, New: []string{"job", "sandbox"}},
		{Kind: wire.KindBaseline, Who: "you", Why: "training", Old: []string{"job", "sandbox"}, New: []string{"sandbox", "step"}},
		{Kind: wire.KindLimits, Who: "admin", Old: []string{"sandbox", "step"}, New: []string{"sandbox"}},
		{Kind: wire.KindRelease, Who: "me", Why: "lease " + l.ID() + " was released", Old: []string{"sandbox"}, New: []string{}},
		{Kind: wire.KindBaseline, Who: "you", Why: "back to the start-up baseline", Old: []string{}, New: []string{"job"}},
	}
	shown := f.State().Changes
	require.Equal(t, f.State().Generation, shown[0].Generation)
	slices.Reverse(shown)
	require.Equal(t, shown[1:], f.changes.take())

	lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
	require.Len(t, lines, len(want))
	for i, line := range lines {
		require.Equal(t, want[i], control.Change{Kind: shown[i].Kind, Who: shown[i].Who, Why: shown[i].Why, Old: shown[i].Old, New: shown[i].New})
		var record struct {
			Level, Msg, Generation, Kind, Who, Why string
			Old, New                               []string
		}
		require.NoError(t, json.Unmarshal(line, &record))
		require.Equal(t, "INFO", record.Level)
		require.Equal(t, "spangate: spans changed", record.Msg)
		require.Equal(t, shown[i].Generation, record.Generation)
		require.Equal(t, want[i], control.Change{Kind: record.Kind, Who: record.Who, Why: record.Why, Old: record.Old, New: record.New})
	}
}

func TestStateShowsTheLatestChanges(t *testing.T) {
	f := newFixture(t)
	for range 100 {
		require.NoError(t, f.SetBaseline(baseline("job")))
	}
	s := f.State()
	require.Len(t, s.Changes, 20)
	require.Equal(t, s.Generation, s.Changes[0].Generation)
	require.Len(t, f.changes.take(), 100)
}

func TestWhatIsHandedOutIsTheCallersOwn(t *testing.T) {
	f := newFixture(t, control.OnChange(func(c control.Change) {
		for i := range c.New {
			c.New[i] = "spoilt"
		}
	}), control.Start(baseline("job")))
	require.NoError(t, f.SetBaseline(baseline("job,step")))
	require.Equal(t, []string{"job", "step"}, f.changes.one(t).New)
	f.lease(t, "me", "job", time.Hour)
	s := f.State()
	s.Enabled[0], s.Changes[0].Old[0], s.Changes[0].New[0] = "spoilt", "spoilt", "spoilt"
	s.Leases[0].Groups[0], s.Groups[0].Members[0].Doc, s.Presets[0].Groups[0] = "spoilt", "spoilt", "spoilt"
	b, err := json.Marshal(f.State())
	require.NoError(t, err)
	require.NotContains(t, string(b), "spoilt")
}

func TestLoggerMayCallTheController(t *testing.T) {
	var f atomic.Pointer[fixture]
	n := 0
	handler := &callingHandler{Handler: slog.DiscardHandler, call: func(slog.Record) {
		if f := f.Load(); f != nil && n < 3 {
			n++
			_ = f.State()
			_, _ = f.Lease(control.LeaseRequest{Owner: "logger", Spec: "sandbox", TTL: time.Hour})
		}
	}}
	made := newFixture(t, control.Logger(slog.New(handler)))
	f.Store(made)
	require.NoError(t, made.SetBaseline(baseline("job")))
	require.Len(t, made.changes.take(), 1+3)
	require.Len(t, made.State().Leases, 3)
}

// callingHandler is a slog.Handler that calls back for every record.
type callingHandler struct {
	slog.Handler
	call func(slog.Record)
}

func (*callingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *callingHandler) Handle(_ context.Context, r slog.Record) error {
	h.call(r)
	return nil
}
