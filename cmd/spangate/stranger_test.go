// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control/wire"
)

// answering is a server that answers everything with this.
func answering(t *testing.T, status int, contentType, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnswersOfStrangersAreTold(t *testing.T) {
	for _, test := range []struct {
		name              string
		status            int
		contentType, body string
		code              int
		want              string
	}{
		{"a page", 200, "text/html; charset=utf-8", "<html>\n <body>Log in", exitFailed, `answers 200 OK with text/html that begins "<html> <body>Log in", which is not the JSON of the endpoint`},
		{"a page of a proxy", 502, "text/html", "<html>", exitUnreachable, "a proxy answers 502 Bad Gateway for it"},
		{"a page that forbids", 403, "text/html", "<html>", exitRefused, `answers 403 Forbidden with text/html that begins "<html>"`},
		{"a page that wants a name", 401, "", "", exitRefused, "answers 401 Unauthorized and an empty body"},
		{"nothing", 200, "application/json", "", exitFailed, "answers 200 OK and an empty body"},
		{"other JSON", 200, "application/json", `{"status":"ok"}`, exitFailed, "answers with JSON that is not a state"},
		{"no object", 200, "application/json", `[]`, exitFailed, "answers 200 OK with application/json that begins"},
		{"null", 200, "application/json", `null`, exitFailed, "not a state"},
		{"fields of another type", 200, "application/json", `{"generation":7}`, exitFailed, "which is not the JSON of the endpoint"},
		{"half an answer", 200, "application/json", `{"generation":"a`, exitFailed, "which is not the JSON of the endpoint"},
		{"what would take the terminal over", 200, ";", "\x1b[2J\u202e", exitFailed, `with no content type that begins "\x1b[2J\u202e"`},
		{"an error of its own", 500, "application/json", `{"error":"oops"}`, exitFailed, "answers 500 Internal Server Error with application/json"},
		{"a status that nobody knows", 799, "text/plain", "?", exitFailed, "answers 799 with text/plain"},
		{"nothing new, unasked", 304, "", "", exitFailed, "304"},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := answering(t, test.status, test.contentType, test.body)
			stdout, stderr, code := ended(t, "get", "--url", url)
			assert.Equal(t, test.code, code, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, test.want)
			assert.True(t, strings.HasPrefix(stderr, "spangate: "), stderr)
			assert.NotContains(t, stderr, "\x1b")

			_, stderr, code = ended(t, "get", "--url", url, "--json")
			assert.Equal(t, test.code, code)
			assert.True(t, json.Valid([]byte(stderr)), stderr)
		})
	}
}

func TestFieldsThatNobodyKnowsAreNoMatter(t *testing.T) {
	url := answering(t, 200, "application/json", `{"generation":"a-1","spec":"default","colour":{"deep":[1]},"groups":[{"name":"x","shape":1}]}`)
	stdout, stderr, code := ended(t, "get", "--url", url)
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "generation   a-1\n")
	stdout, _, _ = ended(t, "get", "--url", url, "--json")
	assert.Contains(t, stdout, `"colour"`, "what a newer process says is kept for programs")
}

// A process may have been told anything, by anyone, and the endpoint may be anything.
func TestNothingInAnAnswerMovesTheCursorOrPanics(t *testing.T) {
	const evil = "\x1b[2J\u009b31m\r\n\u202e\x00"
	state := wire.State{
		Baseline: wire.Baseline{Spec: evil, Who: evil, Why: evil}, Startup: wire.Baseline{Spec: evil + evil},
		Generation: evil, Deny: evil, Ceiling: evil, Enabled: []string{evil}, Pending: []string{evil},
		Groups:  []wire.Group{{Name: evil, Leases: []string{"gone", evil, "", "x", "y"}, Withheld: true, Members: []wire.Member{{Namespace: evil, Doc: evil, Bit: -1}}}, {}},
		Presets: []wire.Preset{{Name: evil, State: evil, Groups: []string{evil}}, {}},
		Leases:  []wire.Lease{{ID: evil, Owner: evil, Spec: evil, Why: evil, Left: evil}, {}},
		Changes: []wire.Change{{Generation: evil, Kind: evil, Who: evil, Why: evil, New: []string{evil}}, {}},
	}
	refusal := wire.Error{Message: evil, Code: wire.CodeUnknownName, Field: evil, Generation: evil, Valid: []string{evil},
		Unknown: []wire.UnknownName{{Name: evil, Offset: -5, Suggestion: evil}, {Name: "all", Offset: 1 << 30}, {Name: "all", Offset: 0, Suggestion: evil}, {}}}
	stale := refusal
	stale.Code, stale.Unknown = wire.CodeStale, nil
	for status, answer := range map[int]any{200: state, 400: refusal, 412: stale, 201: state.Leases[0]} {
		body, err := json.Marshal(answer)
		require.NoError(t, err)
		url := answering(t, status, "application/json", string(body))
		for _, args := range [][]string{{"get"}, {"set", "all"}, {"reset"}, {"leases"}, {"lease", "all", "--for", "1m"}, {"release", "x"}, {"extend", "x", "--for", "1m"}, {"__complete", "set", ""}, {"__complete", "release", ""}} {
			stdout, stderr, code := ended(t, append(args, "--url", url)...)
			assert.NotContains(t, stderr, "goroutine", args)
			assert.Less(t, code, 6, args)
			assert.NotRegexp(t, `[^\n\t -~…]`, stdout+stderr, args)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var got []*http.Request
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r) }))
	defer elsewhere.Close()
	t.Setenv(envToken, "s3cret")
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/x", status))
		for _, args := range [][]string{{"get"}, {"set", "all"}, {"lease", "all", "--for", "1m"}} {
			_, stderr, code := ended(t, append(args, "--url", s.URL)...)
			assert.Equal(t, exitFailed, code)
			assert.Contains(t, stderr, fmt.Sprintf("answers %d %s, which is not followed; if you trust %s/x, use that", status, http.StatusText(status), elsewhere.URL))
		}
		s.Close()
	}
	assert.Empty(t, got)
}

func TestAnswerThatDoesNotComeIsGivenUp(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){ // until the client gives up
		"silence": func(c net.Conn) { io.Copy(io.Discard, c) },
		"half a one": func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
			io.Copy(io.Discard, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			done := make(chan bool)
			go func() {
				defer close(done)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					go serve(c)
				}
			}()
			defer func() { l.Close(); <-done }()
			begin := time.Now()
			_, stderr, code := ended(t, "get", "--url", l.Addr().String(), "--timeout", "200ms")
			assert.Equal(t, exitUnreachable, code)
			assert.Contains(t, stderr, "no answer within 200ms; see that the process is well, or give it longer with --timeout")
			assert.Less(t, time.Since(begin), 10*time.Second)
		})
	}
}

func TestAnswerWithoutEndIsNotRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := bytes.Repeat([]byte(" "), 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, stderr, code := ended(t, "get", "--url", s.URL)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "answers with more than 64 MiB; that is not read")
}

func TestTLSThatIsNotTrustedOrNotSpoken(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	_, stderr, code := ended(t, "get", "--url", s.URL)
	assert.Equal(t, exitUnreachable, code)
	assert.Contains(t, stderr, "its certificate is not trusted")

	p := started(t)
	_, stderr, code = ended(t, "get", "--url", strings.Replace(p.url(), "http:", "https:", 1))
	assert.Equal(t, exitUnreachable, code)
	assert.Contains(t, stderr, "it does not speak TLS; write http:// if that is meant")
}

func TestEndpointOnIPv6BelowThePrefixOfAProxy(t *testing.T) {
	p := started(t)
	l, err := net.Listen("tcp", "[::1]:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.StripPrefix("/a/b", p.server.Handler), ReadHeaderTimeout: time.Minute}
	go s.Serve(l) //nolint:errcheck // it ends when it is closed
	defer s.Close()
	_, stderr, code := ended(t, "lease", "sandbox", "--for", "1m", "--url", l.Addr().String()+"/a/b"+mount)
	assert.Zero(t, code, stderr)
	assert.Equal(t, "job,server,http_client,rollout,sandbox", p.on())
}
