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
	ossignal "os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeaseIsReleasedOnEachSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			if ossignal.Ignored(signal) {
				t.Skip("the command ignores it too, as under nohup")
			}
			p := startProcess(t)
			cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait")
			require.NoError(t, cmd.Start())
			require.True(t, p.gateBecomes("job,server,http_client,rollout,sandbox"))
			require.NoError(t, cmd.Process.Signal(signal))
			assert.NoError(t, cmd.Wait())
			assert.Equal(t, "job,server,http_client,rollout", p.on())
		})
	}
}

// The signal comes after the process has granted the lease and before it answers.
func TestLeaseGrantedDuringASignalIsReleased(t *testing.T) {
	for code, args := range map[int][]string{
		exitOK:          {"lease", "sandbox", "--for", "1h", "--wait"},
		exitInterrupted: {"lease", "sandbox", "--for", "1h"},
	} {
		p := startProcess(t)
		granted, answer := make(chan bool, 1), make(chan bool)
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			later := httptest.NewRecorder()
			p.server.Handler.ServeHTTP(later, r)
			if r.Method == http.MethodPost {
				granted <- true
				select {
				case <-answer:
				case <-time.After(time.Minute): // an assertion failed, and the test has ended
				}
			}
			w.WriteHeader(later.Code)
			io.Copy(w, later.Body)
		}))
		var stderr bytes.Buffer
		cmd := command(t, append(args, "--url", slow.URL+mount)...)
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		receive(t, granted)
		assert.Equal(t, "job,server,http_client,rollout,sandbox", p.on())
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		time.Sleep(50 * time.Millisecond) // so that the signal arrives first
		close(answer)
		_ = cmd.Wait()
		assert.Equal(t, code, cmd.ProcessState.ExitCode(), args)
		assert.Equal(t, "job,server,http_client,rollout", p.on())
		if code == exitInterrupted {
			assert.Regexp(t, `^spangate: interrupted; lease \S+ is released\n$`, stderr.String())
		}
		slow.Close()
	}
}

// Both processes have granted a lease and not yet answered when the signal comes.
func TestSignalReleasesTheLeasesOfAllProcesses(t *testing.T) {
	granted, answer := make(chan bool, 2), make(chan bool)
	args := []string{"lease", "sandbox", "--for", "1h"}
	processes := []*process{startProcess(t), startProcess(t)}
	for _, p := range processes {
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
		args = append(args, "--url", slow.URL+mount)
	}
	cmd := command(t, args...)
	require.NoError(t, cmd.Start())
	receive(t, granted)
	receive(t, granted)
	assert.NoError(t, cmd.Process.Signal(os.Interrupt))
	time.Sleep(50 * time.Millisecond) // so that the signal arrives first
	close(answer)
	_ = cmd.Wait()
	assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
	for _, p := range processes {
		assert.Equal(t, "job,server,http_client,rollout", p.on())
	}
}

// receive waits for a value of c.
func receive(t *testing.T, c <-chan bool) {
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		assert.Fail(t, "no value in time")
	}
}

func TestSecondSignalEndsACommandThatCannotRelease(t *testing.T) {
	p := startProcess(t)
	deleting, ended := make(chan bool, 1), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleting <- true
			<-ended
		}
		p.server.Handler.ServeHTTP(w, r)
	}))
	defer slow.Close()
	defer close(ended)
	cmd := command(t, "lease", "sandbox", "--for", "1h", "--wait", "--url", slow.URL+mount)
	require.NoError(t, cmd.Start())
	assert.True(t, p.gateBecomes("job,server,http_client,rollout,sandbox"))
	assert.NoError(t, cmd.Process.Signal(os.Interrupt))
	receive(t, deleting)
	assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // shells have background jobs ignore SIGINT
	assert.Error(t, cmd.Wait())
	assert.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

func TestWatchEndsWhenItsPipeIsClosed(t *testing.T) {
	p := startProcess(t)
	cmd := command(t, "watch", "--interval", "100ms")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, stdout.Close())
	require.NoError(t, p.ResetBaseline("test", ""))
	assert.NoError(t, cmd.Wait())
}
