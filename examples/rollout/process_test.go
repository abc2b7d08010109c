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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running is a started program.
type running struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	servers map[string]int    // process IDs by role
	spans   map[string]string // URLs by role, of the driver too
	stdout  *bufio.Reader
}

// startLong starts a long job.
func startLong(t *testing.T) *running { return start(t, "--spec=all", "--rollouts=500") }

// start starts the program and reads the lines that name its processes.
func start(t *testing.T, args ...string) *running {
	r := &running{cmd: program(t, args...), servers: make(map[string]int), spans: make(map[string]string)}
	r.cmd.Stderr = &r.stderr
	stdout, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	r.stdout = bufio.NewReader(stdout)
	for len(r.servers) < 4 {
		line, err := r.stdout.ReadString('\n')
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

// wait waits until the driver and all of its servers have ended.
func (r *running) wait(t *testing.T) {
	io.Copy(io.Discard, r.stdout)
	r.cmd.Wait()
	for role, pid := range r.servers {
		assert.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, 10*time.Millisecond, "the %s server still runs", role)
	}
}

// gone reports whether a process has ended. One whose parent was killed may stay a zombie if
// the system has no reaper.
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

// A terminal sends Ctrl-C to the servers too.
func TestInterruptOfTheProcessGroupIsReportedAsAnInterrupt(t *testing.T) {
	r := startLong(t)
	for _, pid := range r.servers {
		require.NoError(t, syscall.Kill(pid, syscall.SIGINT))
	}
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Equal(t, "rollout: interrupted\n", r.stderr.String())
}

func TestServersEndWhenTheDriverIsKilled(t *testing.T) {
	r := startLong(t)
	require.NoError(t, r.cmd.Process.Kill())
	r.wait(t)
}

func TestDeathOfAServerEndsTheRun(t *testing.T) {
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

// A server that does not exit is killed, so the program does not hang.
func TestServerThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	r := startLong(t)
	require.NoError(t, syscall.Kill(r.servers["model"], syscall.SIGSTOP))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Equal(t, "rollout: interrupted\n", r.stderr.String())
}

// until reads lines until one begins with prefix, and returns it.
func (r *running) until(t *testing.T, prefix string) string {
	for {
		line, err := r.stdout.ReadString('\n')
		require.NoError(t, err, "before a line that begins with %q", prefix)
		if line = strings.TrimLeft(line, " "); strings.HasPrefix(line, prefix) {
			return line
		}
	}
}

func TestHoldPrintsTheTokenForChangesAndEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	r := start(t, "--hold", "--spec=rollout", "--rollouts=1")
	assert.Equal(t, "export SPANGATE_URL="+r.spans["resources"]+"\n", r.until(t, "export SPANGATE_URL"))
	token := strings.TrimSpace(strings.TrimPrefix(r.until(t, "export "+tokenVariable), "export "+tokenVariable+"="))
	r.until(t, "1 rollout, 1 span\n")

	resources, err := newProcess("resources", 0, strings.TrimSuffix(r.spans["resources"], spansPath), token)
	require.NoError(t, err)
	lease, err := resources.lease(t, "all", time.Minute)
	require.NoError(t, err)
	r.until(t, "1 rollout, 5 spans\n") // rollout; in resources two of server, sandbox, verify
	_, err = resources.spans.Release(t.Context(), lease.ID)
	require.NoError(t, err)
	r.until(t, "1 rollout, 1 span\n")

	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Zero(t, r.cmd.ProcessState.ExitCode(), "Ctrl-C is the regular end")
	assert.Empty(t, r.stderr.String())
}

func TestDeathOfAServerEndsTheHold(t *testing.T) {
	t.Parallel()
	r := start(t, "--hold", "--spec=", "--rollouts=1")
	r.until(t, "1 rollout, 0 spans\n")
	require.NoError(t, syscall.Kill(r.servers["model"], syscall.SIGKILL))
	r.wait(t)
	assert.Equal(t, 1, r.cmd.ProcessState.ExitCode())
	assert.Contains(t, r.stderr.String(), "the model server")
}

func TestHoldWithAnotherCollectorDrawsNothing(t *testing.T) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	r := start(t, "--hold", "--spec=rollout", "--rollouts=1", "--otlp", c.url)
	r.until(t, "Every second a rollout runs; its spans go to your collector.")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Zero(t, r.cmd.ProcessState.ExitCode())
}
