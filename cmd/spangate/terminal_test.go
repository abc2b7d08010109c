// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The terminal turns Ctrl-C into a signal.
func TestLeaseOnATerminalCountsDownAndIsReleasedByCtrlC(t *testing.T) {
	p := startProcess(t)
	cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait")
	cmd.Env = append(os.Environ(), "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 40})
	require.NoError(t, err)
	defer terminal.Close()
	require.True(t, p.gateBecomes("job,server,http_client,rollout,sandbox"))
	var shown []byte
	require.True(t, eventually(func() bool {
		b := make([]byte, 1024)
		n, err := terminal.Read(b)
		require.NoError(t, err)
		shown = append(shown, b[:n]...)
		return counted.Match(shown)
	}), "%q", shown)
	_, err = terminal.WriteString("\x03")
	require.NoError(t, err)
	rest, _ := io.ReadAll(terminal) // fails when the other side has closed
	assert.NoError(t, cmd.Wait())
	assert.Contains(t, string(rest), "\r\x1b[K", "the countdown is gone")
	assert.Regexp(t, `lease \S+ of \S+ on sandbox has ended\r\n$`, string(rest))
	assert.Equal(t, "job,server,http_client,rollout", p.on())
}

var counted = regexp.MustCompile(`\r\x1b\[K59m5\ds left; Ctrl-C ends the lease`)

func TestTableOnANarrowTerminalIsWrapped(t *testing.T) {
	cmd := command(t, "groups", "--catalog", "lens")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 60})
	require.NoError(t, err)
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // fails when the other side has closed
	require.NoError(t, cmd.Wait())
	assert.Contains(t, string(out), "the forward and")
	assert.NotContains(t, string(out), "\x1b")
	assert.NotRegexp(t, `[^\r\n]{61}`, string(out))
}
