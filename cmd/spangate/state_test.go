// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
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
