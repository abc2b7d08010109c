// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
)

// fullDevice returns a file that can't be written.
func fullDevice(t *testing.T) *os.File {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// closedPipe returns a pipe without a reader.
func closedPipe(t *testing.T) *os.File {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	t.Cleanup(func() { write.Close() })
	return write
}

func TestLeaseThatCannotBeShownIsReleased(t *testing.T) {
	p := startProcess(t)
	for _, stdout := range []*os.File{fullDevice(t), closedPipe(t)} {
		for _, args := range [][]string{
			{"lease", "sandbox", "--for", "1h"},
			{"lease", "sandbox", "--for", "1h", "--json"},
			{"lease", "sandbox", "--for", "1h", "--wait"},
			{"quiet", "job", "--for", "1h"},
		} {
			before := p.State().Generation
			cmd := command(t, args...)
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = stdout, &stderr
			assert.Error(t, cmd.Run())
			assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), args)
			assert.Regexp(t, `output: .*; lease \S+ is released`, stderr.String(), args)
			assert.Equal(t, "job,server,http_client,rollout", p.on())
			assert.NotEqual(t, before, p.State().Generation, "it was granted")
			assert.Empty(t, p.State().Leases)
		}
	}
}

func TestLeasesInSeveralProcessesThatCannotBeShownAreReleased(t *testing.T) {
	processes := []*process{startProcess(t), startProcess(t)}
	cmd := command(t, "quiet", "job", "--for", "1h", "--url", processes[0].url(), "--url", processes[1].url())
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = fullDevice(t), &stderr
	assert.Error(t, cmd.Run())
	assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	assert.Equal(t, 2, strings.Count(stderr.String(), " is released"), stderr.String())
	for _, p := range processes {
		assert.Len(t, p.State().Changes, 3, "it was granted and released")
		assert.Empty(t, p.State().Leases)
	}
}

func TestErrorNamesALeaseThatCanNeitherBeShownNorReleased(t *testing.T) {
	p := startProcess(t)
	granting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		p.server.Handler.ServeHTTP(w, r)
	}))
	defer granting.Close()
	for _, args := range [][]string{{"--json"}, nil, {"--wait"}} {
		cmd := command(t, append([]string{"lease", "sandbox", "--for", "1h", "--url", granting.URL + mount}, args...)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = fullDevice(t), &stderr
		assert.Error(t, cmd.Run())
		assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
		leases := p.State().Leases
		require.NotEmpty(t, leases)
		assert.Contains(t, stderr.String(), "no space left on device; lease "+leases[len(leases)-1].ID+" is not released, and ends by itself in ")
	}
}

// A write does not fail if standard output is closed, since Go's runtime opens the null device.
func TestLeaseIsShownOnStandardErrorIfStandardOutputIsClosed(t *testing.T) {
	p := startProcess(t)
	for _, test := range []struct{ script, stderr string }{
		{`exec spangate lease sandbox --for 1h >&-`, `(?m)^lease   `},
		{`exec spangate quiet job --for 1h --json >&-`, `(?m)^  "id": "`},
		{`exec spangate lease agent --for 1s --wait >&-`, `(?m)^lease \S+ of \S+ on agent has ended$`},
		{`exec spangate lease verify --for 1h >/dev/null`, `^$`},
	} {
		leases := len(p.State().Leases)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", test.script)
		stderr, err := cmd.CombinedOutput() // nothing is on standard output
		assert.NoError(t, err, test.script)
		assert.Regexp(t, test.stderr, string(stderr), test.script)
		if !strings.Contains(test.script, "--wait") {
			assert.Len(t, p.State().Leases, leases+1, test.script)
		}
	}
	assert.Equal(t, "server,http_client,rollout,verify,sandbox", p.on())
}

func TestPipeClosedEarlyIsNoFailure(t *testing.T) {
	p := startProcess(t)
	l, err := p.Lease(control.LeaseRequest{Owner: "ann", Spec: "sandbox", TTL: time.Hour})
	require.NoError(t, err)
	for _, args := range [][]string{
		{"get"}, {"get", "--json"}, {"leases"}, {"leases", "--json"}, {"scopes"}, {"get", "sandbox"}, {"get", "--url", p.url(), "--url", p.url()}, {"groups"}, {"presets"}, {"explain", "all"}, {"watch"}, {"--help"}, {"completion", "bash"},
		{"set", "all"}, {"reset"}, {"extend", l.ID(), "--for", "1h"}, {"release", l.ID()},
	} {
		cmd := command(t, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = closedPipe(t), &stderr
		assert.NoError(t, cmd.Run(), args)
		assert.Empty(t, stderr.String(), args)
	}
	assert.Empty(t, p.State().Leases)
	for range 5 {
		out, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", "spangate get | head -1").CombinedOutput()
		assert.NoError(t, err)
		assert.Equal(t, "process      "+p.url()+"\n", string(out))
	}
}
