// SPDX-License-Identifier: Apache-2.0

//go:build unix && !spangate_off

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running is the program while it runs.
type running struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	servers map[string]int    // process IDs by role
	spans   map[string]string // URLs by role, the driver's too
	stdout  *bufio.Reader
}

// startLong starts a long job.
func startLong(t *testing.T) *running { return start(t, "--spec=all", "--rollouts=500") }

// start starts the program and waits until it has said which processes there are.
func start(t *testing.T, args ...string) *running {
	r := &running{cmd: program(t, args...), servers: make(map[string]int), spans: make(map[string]string)}
	r.cmd.Stderr = &r.stderr
	stdout, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	lines := bufio.NewReader(stdout)
	r.stdout = lines
	for len(r.servers) < 4 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		var role, url string
		var pid int
		if n, _ := fmt.Sscanf(line, "%s process %d %s", &role, &pid, &url); n == 3 {
			r.servers[role] = pid
			r.spans[role] = url
		}
	}
	require.Equal(t, r.cmd.Process.Pid, r.servers["driver"])
	delete(r.servers, "driver")
	return r
}

// wait waits for the driver to end. All that it started has to end with it.
func (r *running) wait(t *testing.T) {
	io.Copy(io.Discard, r.stdout)
	r.cmd.Wait()
	for role, pid := range r.servers {
		assert.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, 10*time.Millisecond, "the %s server is left", role)
	}
}

// gone reports whether a process has ended. One whose parent was killed may stay a zombie
// where nobody collects it.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func TestInterruptEndsEveryProcess(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			r := startLong(t)
			require.NoError(t, r.cmd.Process.Signal(signal))
			r.wait(t)
			assert.Equal(t, 130, r.cmd.ProcessState.ExitCode())
			assert.Equal(t, "rollout: interrupted\n", r.stderr.String())
		})
	}
}

// A terminal sends Ctrl-C to the servers as well.
func TestInterruptOfTheWholeProcessGroupIsNoDeathOfAServer(t *testing.T) {
	r := startLong(t)
	for _, pid := range r.servers {
		require.NoError(t, syscall.Kill(pid, syscall.SIGINT))
	}
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Equal(t, "rollout: interrupted\n", r.stderr.String())
}

func TestServersEndWithADriverThatIsKilled(t *testing.T) {
	r := startLong(t)
	require.NoError(t, r.cmd.Process.Kill())
	r.wait(t)
}

func TestServerThatDiesEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"agent", "model", "resources"} {
		t.Run(role, func(t *testing.T) {
			r := startLong(t)
			require.NoError(t, syscall.Kill(r.servers[role], syscall.SIGKILL))
			r.wait(t)
			assert.Equal(t, 1, r.cmd.ProcessState.ExitCode())
			assert.Equal(t, fmt.Sprintf("rollout: the %s server (process %d) died: signal: killed\n", role, r.servers[role]), r.stderr.String())
		})
	}
}

// A server that hangs does not make the program hang: it is killed in the end.
func TestServerThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	r := startLong(t)
	require.NoError(t, syscall.Kill(r.servers["model"], syscall.SIGSTOP))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Equal(t, "rollout: interrupted\n", r.stderr.String())
}
