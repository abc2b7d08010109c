// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control/wire"
)

// The memory and processor time that the command may take for an answer. The race detector
// multiplies both.
const (
	maxMemory = 1536 << 20
	maxCPU    = 30 * time.Second
)

// runBounded runs the command and asserts that it stays within maxMemory and maxCPU.
func runBounded(t *testing.T, args ...string) (stdout, stderr string, code int) {
	cmd := command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	memory := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%v: %v, %d MiB", args, cpu, memory>>20)
	assert.Less(t, memory, int64(maxMemory), args)
	assert.Less(t, cpu, maxCPU, args)
	assert.NotContains(t, errs.String(), "goroutine", args)
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// compressed returns the URL of a server that answers with what write writes, in gzip. write
// returns when its channel is closed: the command has closed the connection.
func compressed(t *testing.T, status int, write func(w io.Writer, closed <-chan struct{}) error) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the connection is closed
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // fails for a level that there is not
		if write(flusher{z, w.(http.Flusher)}, r.Context().Done()) == nil {
			_ = z.Close()
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// flusher is a gzip writer whose Flush sends what has been written.
type flusher struct {
	*gzip.Writer
	http http.Flusher
}

func (f flusher) Flush() error {
	err := f.Writer.Flush()
	f.http.Flush()
	return err
}

// endless returns a function that writes head, then chunk until a write fails.
func endless(head, chunk string) func(io.Writer, <-chan struct{}) error {
	chunk = strings.Repeat(chunk, 1<<16/len(chunk))
	return func(w io.Writer, _ <-chan struct{}) error {
		_, err := io.WriteString(w, head)
		for err == nil {
			_, err = io.WriteString(w, chunk)
		}
		return err
	}
}

// A small answer may be large when decompressed, and larger when decoded or drawn.
func TestAnswerIsBounded(t *testing.T) {
	const begin = `{"generation":"a-1","groups":[`
	for name, test := range map[string]struct {
		write func(io.Writer, <-chan struct{}) error
		want  string
	}{
		"empty groups":          {endless(begin, `{},`), "more than 65536 objects"},
		"empty leases":          {endless(`{"generation":"a-1","leases":[`, "{\n},"), "more than 65536 objects"},
		"empty lists":           {endless(`{"generation":"a-1","unknown":[`, `[],`), "more than 131072 elements in a list or object"},
		"empty texts":           {endless(`{"generation":"a-1","enabled":[`, `"",`), "more than 131072 elements in a list or object"},
		"nulls for leases":      {endless(`{"generation":"a-1","leases":[`, `null,`), "more than 131072 elements in a list or object"},
		"lists of texts":        {endless(`{"generation":"a-1","unknown":[`, `["`+strings.Repeat(`","`, 100)+`"],`), "more than 4194304 values"},
		"the same field":        {endless(`{"generation":"a-1"`, `,"enabled":["a"]`), "more than 131072 elements in a list or object"},
		"deep lists":            {endless(``, `[`), "more than 32 levels of nesting"},
		"deep objects":          {endless(``, `{"":`), "more than 32 levels of nesting"},
		"a text without end":    {endless(`{"generation":"`, `a`), "more than 64 MiB"},
		"escapes without end":   {endless(`{"generation":"`, `\"{[`), "more than 64 MiB"},
		"space without end":     {endless(``, ` `), "more than 64 MiB"},
		"21 million in one MiB": {func(w io.Writer, _ <-chan struct{}) error { return repeated(w, begin, `{},`, 64<<20, `{}]}`) }, "more than 65536 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			url := compressed(t, http.StatusOK, test.write)
			stdout, stderr, code := runBounded(t, "get", "--url", url, "--timeout", "4m")
			assert.Empty(t, stdout)
			assert.Equal(t, exitFailed, code)
			assert.Contains(t, stderr, "answers 200 OK with "+test.want+", which is not read; see that the endpoint is mounted there, and the path")
		})
	}
}

// repeated writes head, then chunk for n bytes, then tail.
func repeated(w io.Writer, head, chunk string, n int, tail string) error {
	_, err := io.WriteString(w, head)
	for many := strings.Repeat(chunk, 1<<16/len(chunk)); n > 0 && err == nil; n -= len(many) {
		_, err = io.WriteString(w, many)
	}
	if err == nil {
		_, err = io.WriteString(w, tail)
	}
	return err
}

func TestAnswerIsBoundedForEveryCommand(t *testing.T) {
	for _, status := range []int{200, 201, 400, 401, 502} {
		url := compressed(t, status, endless(`{"code":"bad_field","valid":[`, `{},`))
		for _, args := range [][]string{
			{"get", "--json"}, {"get", "--on"}, {"scopes"}, {"explain", "all"}, {"set", "all", "--dry-run"}, {"watch"}, {"leases"}, {"set", "all"}, {"reset"}, {"lease", "all", "--for", "1m"}, {"quiet", "all", "--for", "1m"},
			{"extend", "x", "--for", "1m"}, {"release", "x"},
		} {
			_, stderr, code := runBounded(t, append(args, "--url", url)...)
			assert.Contains(t, stderr, "more than 65536 objects", args)
			assert.Contains(t, []int{exitFailed, exitRefused}, code, args)
		}
		stdout, _, code := runBounded(t, "__complete", "--url", url, "set", "job,sand")
		assert.Zero(t, code)
		assert.Contains(t, stdout, "job,sandbox", "the vocabulary of Gym, without a process")
	}
}

func TestLargestAnswerIsDrawn(t *testing.T) {
	long := strings.Repeat(`\u202e`, 1<<18)
	url := compressed(t, http.StatusOK, func(w io.Writer, _ <-chan struct{}) error {
		head := `{"generation":"a-1"`
		for field, of := range map[string][3]string{ // the first element, each of the others, and their number
			"enabled": {`"` + long + `"`, `,""`, "50000"},
			"groups":  {`{"name":"` + long + `"}`, `,{"leases":["","","",""],"quiet":["","","",""]}`, "2000"},
			"leases":  {`{"owner":"` + long + `"}`, `,{"id":"x","groups":["","","",""],"why":"y"}`, "4000"},
			"presets": {`{}`, `,{"groups":["a","a"]}`, "3000"},
			"pending": {`""`, `,"a"`, "50000"},
			"scopes":  {`{"name":"` + long + `"}`, `,{"sites":[{"groups":["a"],"spans":{}}]}`, "3000"},
		} {
			var n int
			if _, err := fmt.Sscan(of[2], &n); err != nil {
				return err
			}
			if err := repeated(w, head+`,"`+field+`":[`+of[0], of[1], n*len(of[1]), "]"); err != nil {
				return err
			}
			head = ""
		}
		_, err := io.WriteString(w, "}")
		return err
	})
	for _, args := range [][]string{{"get"}, {"get", "--json"}, {"get", "--on"}, {"scopes"}, {"explain", "all"}, {"set", "", "--dry-run"}, {"get", "--url", url + "/2"}} {
		stdout, stderr, code := runBounded(t, append(args, "--url", url, "--timeout", "4m")...)
		assert.Zero(t, code, stderr)
		assert.NotEmpty(t, stdout)
	}
}

func TestWatchShowsTheNewestOfManyChanges(t *testing.T) {
	polls := make(chan bool, 100)
	polled := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		polled++
		state := wire.State{Generation: fmt.Sprint("a-", polled)}
		for i := range 10_000 {
			state.Changes = append(state.Changes, wire.Change{Generation: fmt.Sprint("a-", polled, "-", i)})
		}
		_ = json.NewEncoder(w).Encode(state)
		polls <- true
	}))
	defer s.Close()
	cmd := command(t, "watch", "--interval", "100ms", "--json", "--url", s.URL)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Start())
	for range 3 {
		receive(t, polls)
	}
	assert.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	assert.NoError(t, cmd.Wait())
	lines := strings.Count(stdout.String(), "\n")
	assert.GreaterOrEqual(t, lines, maxChanges)
	assert.Zero(t, lines%maxChanges)
	assert.Contains(t, stdout.String(), `"a-2-0"`)
	assert.NotContains(t, stdout.String(), `"a-2-256"`)
}

func TestRefusalWithManyNamesIsBounded(t *testing.T) {
	const each = `{"name":"","offset":0,"suggestion":"aaaaaaaa"}`
	url := compressed(t, http.StatusBadRequest, func(w io.Writer, _ <-chan struct{}) error {
		return repeated(w, `{"code":"unknown_name","unknown":[`+each, ","+each, 60_000*len(each), `]}`)
	})
	_, stderr, code := runBounded(t, "set", "all", "--url", url, "--timeout", "4m")
	assert.Equal(t, exitUsage, code)
	assert.Less(t, len(stderr), 64<<10)
}

func TestErrorWithTheNamesOfAProcessIsBounded(t *testing.T) {
	url := compressed(t, http.StatusOK, func(w io.Writer, _ <-chan struct{}) error {
		return repeated(w, `{"generation":"a-1","groups":[{}`, `,{"name":"aaaaaaaa"}`, 1<<20, `]}`)
	})
	for _, args := range [][]string{{"set", "all,aaaaaaab", "--dry-run"}, {"get", "aaaaaaab"}} {
		_, stderr, code := runBounded(t, append(args, "--url", url)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, "aaaaaaaa")
		assert.Less(t, len(stderr), 16<<10)
	}
}

func TestTimeoutEndsAnAnswerThatComesSlowly(t *testing.T) {
	trickle := func(head, drop string, flush func(io.Writer)) func(io.Writer, <-chan struct{}) error {
		return func(w io.Writer, closed <-chan struct{}) error {
			_, err := io.WriteString(w, head)
			for err == nil {
				flush(w)
				select {
				case <-closed:
					return io.ErrClosedPipe
				case <-time.After(10 * time.Millisecond):
					_, err = io.WriteString(w, drop)
				}
			}
			return err
		}
	}
	flush := func(w io.Writer) { _ = w.(flusher).Flush() }
	for name, write := range map[string]func(io.Writer, <-chan struct{}) error{
		"text":               trickle(`{"generation":"`, "a", flush),
		"space":              trickle(``, " ", flush),
		"compressed nothing": trickle(``, "", flush),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := compressed(t, http.StatusOK, write)
			for _, args := range [][]string{{"get"}, {"watch"}, {"lease", "all", "--for", "1m"}} {
				begin := time.Now()
				_, stderr, code := runBounded(t, append(args, "--url", url, "--timeout", "300ms")...)
				assert.Equal(t, exitUnreachable, code, args)
				assert.Contains(t, stderr, "no answer within 300ms", args)
				assert.Less(t, time.Since(begin), 10*time.Second, args)
			}
		})
	}
}

func TestTimeoutEndsAnAnswerWithoutContent(t *testing.T) {
	url := compressed(t, http.StatusOK, func(w io.Writer, _ <-chan struct{}) error {
		for {
			if err := w.(flusher).Flush(); err != nil {
				return err
			}
		}
	})
	_, stderr, code := runBounded(t, "get", "--url", url, "--timeout", "300ms")
	assert.Equal(t, exitUnreachable, code)
	assert.Contains(t, stderr, "no answer within 300ms")

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for line := strings.Repeat("X-Line: "+strings.Repeat("x", 100)+"\r\n", 100); err == nil; {
			_, err = io.WriteString(c, line)
		}
	}))
	defer s.Close()
	_, stderr, code = runBounded(t, "get", "--url", s.URL)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "server response headers exceeded 65536 bytes")
}
