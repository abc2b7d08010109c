// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeaseIsReleasedByWhicheverSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			p := started(t)
			cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait")
			require.NoError(t, cmd.Start())
			require.True(t, p.shows("job,server,http_client,rollout,sandbox"))
			require.NoError(t, cmd.Process.Signal(signal))
			assert.NoError(t, cmd.Wait())
			assert.Equal(t, "job,server,http_client,rollout", p.on())
		})
	}
}

// The signal comes while the process has granted the lease and not answered yet.
func TestLeaseThatIsJustGrantedIsReleased(t *testing.T) {
	p := started(t)
	granted, answer := make(chan bool), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		later := httptest.NewRecorder()
		p.server.Handler.ServeHTTP(later, r)
		if r.Method == http.MethodPost {
			granted <- true
			<-answer
		}
		w.WriteHeader(later.Code)
		io.Copy(w, later.Body)
	}))
	defer slow.Close()
	cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait", "--url", slow.URL+mount)
	require.NoError(t, cmd.Start())
	<-granted
	require.Equal(t, "job,server,http_client,rollout,sandbox", p.on())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	time.Sleep(50 * time.Millisecond) // for the signal to arrive first; if it does not, the test is another one
	answer <- true
	assert.NoError(t, cmd.Wait())
	assert.Equal(t, "job,server,http_client,rollout", p.on())
}

func TestSecondSignalEndsACommandThatCannotRelease(t *testing.T) {
	p := started(t)
	deleting := make(chan bool)
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleting <- true
			<-deleting
		}
		p.server.Handler.ServeHTTP(w, r)
	}))
	defer deaf.Close()
	cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait", "--url", deaf.URL+mount)
	require.NoError(t, cmd.Start())
	require.True(t, p.shows("job,server,http_client,rollout,sandbox"))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	<-deleting
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // shells have background jobs ignore SIGINT
	assert.Error(t, cmd.Wait())
	assert.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	deleting <- true
}

// Whoever reads the output has gone: an error like any other, and no reason to leave a lease
// behind.
func TestLeaseIsReleasedWhenNobodyReadsTheOutput(t *testing.T) {
	p := started(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	defer write.Close()
	cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &stderr
	assert.Error(t, cmd.Run())
	assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	assert.Empty(t, stderr.String())
	assert.Equal(t, "job,server,http_client,rollout", p.on())
	assert.Len(t, p.State().Changes[0].Old, 5, "it was granted")
}

func TestWatchEndsWhenNobodyReadsOn(t *testing.T) {
	p := started(t)
	cmd := command(t, "watch", "--interval", "100ms")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, stdout.Close())
	require.NoError(t, p.ResetBaseline("test", ""))
	assert.Error(t, cmd.Wait())
	assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
}
