// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
)

func TestColoursOnlyOnATerminalAndWithoutNoColor(t *testing.T) {
	startProcess(t, control.Deny("step"))
	const terminal = "TTY_FORCE=1" // as if the output were a terminal
	for _, test := range []struct {
		environment     []string
		styles, colours bool
	}{
		{[]string{"TERM=xterm-256color"}, false, false},
		{[]string{"TERM=xterm-256color", terminal}, true, true},
		{[]string{"TERM=xterm-256color", terminal, "NO_COLOR=any"}, true, false},
		{[]string{"TERM=xterm-256color", terminal, "NO_COLOR="}, true, true},
		{[]string{"TERM=dumb", terminal}, false, false},
	} {
		t.Run(strings.Join(test.environment, " "), func(t *testing.T) {
			for _, args := range [][]string{{"get"}, {"explain", "sandboxx"}, {"groups"}, {"set", "all"}} {
				cmd := command(t, args...)
				cmd.Env = append(os.Environ(), test.environment...)
				out, _ := cmd.CombinedOutput() // one fails, as it should
				require.NotEmpty(t, out)
				if !test.styles {
					assert.NotContains(t, string(out), "\x1b", args)
				}
				if args[0] == "get" {
					assert.Equal(t, test.styles, bytes.Contains(out, []byte("\x1b[1m")), "bold")
					assert.Equal(t, test.colours, bytes.Contains(out, []byte("\x1b[32m")), "green")
				}
			}
		})
	}
}

func TestOutputInAPipeHasNoTrailingSpace(t *testing.T) {
	startProcess(t)
	for _, args := range [][]string{
		{"get"}, {"groups"}, {"presets"}, {"explain", "all"}, {"explain", ""}, {"leases"},
		{"lease", "all", "--for", "1h", "--owner", "ann"}, {"leases"}, {"set", "sandbox"}, {"get"}, {"get", "--on"}, {"get", "sandbox"}, {"scopes"}, {"set", "all", "--dry-run"}, {"reset"},
	} {
		stdout, stderr, code := runCommand(t, args...)
		assert.Zero(t, code, args)
		assert.Empty(t, stderr, args)
		assert.NotRegexp(t, `[ \t](\n|$)`, stdout, args)
		assert.NotRegexp(t, `[^\n -~]`, stdout, "not plain ASCII")
	}
}

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	startProcess(t)
	for _, args := range [][]string{{"groups"}, {"groups", "--json"}, {"explain", "all"}, {"get"}, {"get", "--json"}, {"--help"}, {"watch"}} {
		cmd := command(t, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		assert.Error(t, cmd.Run(), args)
		assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), args)
		assert.Contains(t, stderr.String(), "no space left on device", args)
	}
}

func TestGoRunFromTheRoot(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/spangate", "explain", "default,sandboxx")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "GOWORK=")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "\n  default,sandboxx\n          ^^^^^^^^ did you mean sandbox?\n")
	assert.True(t, strings.HasSuffix(string(out), "\nexit status 2\n"), "%s", out)
}
