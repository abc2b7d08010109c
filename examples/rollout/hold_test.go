// SPDX-License-Identifier: Apache-2.0

//go:build unix && !spangate_off

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// until reads lines until one begins like this.
func (r *running) until(t *testing.T, prefix string) string {
	for {
		line, err := r.stdout.ReadString('\n')
		require.NoError(t, err, "before a line that begins with %q", prefix)
		if line = strings.TrimLeft(line, " "); strings.HasPrefix(line, prefix) {
			return line
		}
	}
}

func TestHeldFleetIsChangedWithWhatItPrintedAndEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	r := start(t, "--hold", "--spec=rollout", "--rollouts=1")
	assert.Equal(t, "export SPANGATE_URL="+r.spans["resources"]+"\n", r.until(t, "export SPANGATE_URL"))
	token := strings.TrimSpace(strings.TrimPrefix(r.until(t, "export "+tokenVariable), "export "+tokenVariable+"="))
	r.until(t, "1 rollout, 1 span\n")

	resources := &process{role: "resources", url: strings.TrimSuffix(r.spans["resources"], spansPath)}
	o := newOperator(token, resources)
	defer o.client.CloseIdleConnections()
	lease, err := o.lease(t.Context(), resources, "all", time.Minute)
	require.NoError(t, err)
	r.until(t, "1 rollout, 5 spans\n") // server, twice; sandbox; verify
	_, err = o.release(t.Context(), resources, lease.ID)
	require.NoError(t, err)
	r.until(t, "1 rollout, 1 span\n")

	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Zero(t, r.cmd.ProcessState.ExitCode(), "that is how it is meant to end")
	assert.Empty(t, r.stderr.String())
}

func TestServerThatDiesEndsTheHold(t *testing.T) {
	t.Parallel()
	r := start(t, "--hold", "--spec=", "--rollouts=1")
	r.until(t, "1 rollout, 0 spans\n")
	require.NoError(t, syscall.Kill(r.servers["model"], syscall.SIGKILL))
	r.wait(t)
	assert.Equal(t, 1, r.cmd.ProcessState.ExitCode())
	assert.Contains(t, r.stderr.String(), "the model server")
}

func TestHoldWithTheReadersCollectorDrawsNothing(t *testing.T) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.stop()
	r := start(t, "--hold", "--spec=rollout", "--rollouts=1", "--otlp", c.url)
	r.until(t, "Every second a rollout runs; its spans go to your collector.")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait(t)
	assert.Zero(t, r.cmd.ProcessState.ExitCode())
}
