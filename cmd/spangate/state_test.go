// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

func TestGetShowsWhyTheWatchedFileCannotBeUsed(t *testing.T) {
	p := startProcess(t)
	file := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, os.WriteFile(file, []byte("sandbox\n"), 0o644))
	w, err := p.WatchFile(file, control.Interval(time.Hour))
	require.NoError(t, err)
	stdout, _, _ := runCommand(t, "get")
	assert.NotContains(t, stdout, "file   ")

	require.NoError(t, os.WriteFile(file, []byte("a b\n"), 0o644))
	require.Error(t, w.Reload())
	require.Error(t, w.Reload()) // a problem that one read alone finds is not reported
	stdout, _, _ = runCommand(t, "get")
	assert.Contains(t, stdout, "\nbaseline     sandbox by file: "+file+"\nfile         "+file+" can't be used, so the last baseline stays: ")
	assert.Contains(t, stdout, "a comma is missing between two names\n")
}

func TestCountsOfOverridesAreShownIfThereAreAny(t *testing.T) {
	assert.Empty(t, overrides(wire.Overrides{}), "of a process that does not send them")
	assert.Empty(t, overrides(wire.Overrides{Chosen: "0", Received: "0", Started: "0", Admitted: true, MaxTraces: 1}))
	assert.Equal(t, "1 live, 0 chosen here, 18446744073709551615 received, 7 spans started; cut: spans per second 3, traces 4; refused: ex\\npired 5", ansi.Strip(overrides(wire.Overrides{
		Live: 1, Chosen: "0", Received: "18446744073709551615", Started: "7",
		Cut:     []wire.Count{{Reason: wire.CutSpansPerSecond, Count: "3"}, {Reason: wire.CutTraces, Count: "4"}},
		Refused: []wire.Count{{Reason: "ex\npired", Count: "5"}},
	})))
	assert.NotEmpty(t, overrides(wire.Overrides{Refused: []wire.Count{{Reason: "malformed", Count: "1"}}}))
}
