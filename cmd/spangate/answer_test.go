// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control/wire"
)

// answering returns the URL of a server that gives every request the same answer.
func answering(t *testing.T, status int, contentType, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("WWW-Authenticate", "Basic realm=\"\u202e\"")
		w.Header().Set("Location", "/x")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestExitCodeOfEachKindOfAnswer(t *testing.T) {
	ssh, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ssh.Close()
	go func() {
		for {
			c, err := ssh.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
		}
	}()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for name, test := range map[string]struct {
		url  string
		exit int
		text string
	}{
		"page":               {answering(t, 200, "text/html", "<html>"), exitFailed, "which is not the JSON of the endpoint"},
		"server error":       {answering(t, 500, "application/json", `{"error":"oops"}`), exitFailed, "answers 500 Internal Server Error"},
		"redirect":           {answering(t, 307, "", ""), exitFailed, "answers 307 Temporary Redirect, which is not followed; if you trust http://"},
		"control characters": {answering(t, 200, ";", "\x1b[2J\u202e"), exitFailed, `begins "\x1b[2J\u202e"`},
		"SSH":                {ssh.Addr().String(), exitFailed, "which is not HTTP; see the port"},
		"page of a proxy":    {answering(t, 502, "text/html", "<html>"), exitUnreachable, "a proxy answers 502 Bad Gateway for it"},
		"silence":            {silent.Addr().String(), exitUnreachable, "no answer within 300ms; see that the process is well, or give it longer with --timeout"},
		"other credentials":  {answering(t, 401, "", ""), exitRefused, "which wants the credentials Basic realm=\"\\u202e\", and an empty body"},
		"page that forbids":  {answering(t, 403, "text/html", "<html>"), exitRefused, "answers 403 Forbidden"},
		"proxy credentials":  {answering(t, 407, "", ""), exitRefused, "answers 407 Proxy Authentication Required"},
	} {
		for _, flag := range []string{"--json=false", "--json"} {
			stdout, stderr, exit := runCommand(t, "get", "--timeout", "300ms", flag, "--url", test.url)
			assert.Equal(t, test.exit, exit, "%s: %s", name, stderr)
			assert.Empty(t, stdout)
			assert.NotContains(t, stderr, "\x1b")
			if flag == "--json" {
				assert.True(t, json.Valid([]byte(stderr)), stderr)
				continue
			}
			assert.Contains(t, stderr, test.text)
			assert.True(t, strings.HasPrefix(stderr, "spangate: http://") || strings.HasPrefix(stderr, "spangate: cannot reach http://"), stderr)
		}
	}
	_, stderr, exit := runCommand(t, "set", "all", "--timeout", "300ms", "--url", silent.Addr().String())
	assert.Equal(t, exitUnreachable, exit)
	assert.Contains(t, stderr, "; the change may have been made all the same, which spangate get shows")
}

func TestUnknownFieldsOfAnAnswerAreKeptForPrograms(t *testing.T) {
	url := answering(t, 200, "application/json", `{"generation":"a-1","spec":"default","colour":{"deep":[1]},"groups":[{"name":"x","shape":1}]}`)
	stdout, stderr, code := runCommand(t, "get", "--url", url)
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "generation  a-1\n")
	stdout, _, _ = runCommand(t, "get", "--url", url, "--json")
	assert.Contains(t, stdout, `"colour"`, "what a newer process says is kept for programs")
}

func TestNothingInAnAnswerMovesTheCursorOrPanics(t *testing.T) {
	const hostile = "\x1b[2J\u009b31m\r\n\u202e\x00\x7f\U000e0001"
	state := wire.State{
		Baseline: wire.Baseline{Spec: hostile, Who: hostile, Why: hostile}, Startup: wire.Baseline{Spec: hostile + hostile},
		Generation: hostile, Deny: hostile, Ceiling: hostile, Enabled: []string{hostile}, Roots: []string{hostile}, Pending: []string{hostile}, MaxTTL: hostile,
		Groups: []wire.Group{
			{Name: hostile, Leases: []string{"gone", hostile, "", "x", "y"}, Quiet: []string{hostile, "gone"}, Withheld: true, Members: []wire.Member{{Namespace: hostile, Doc: hostile, Bit: -1}}, Spans: &wire.Spans{Started: hostile, PerSecond: 1e308}},
			{},
		},
		Scopes: []wire.Scope{{Name: hostile, Sites: []wire.Site{
			{Rule: hostile, SpanName: hostile, Kind: hostile, Groups: []string{hostile}, Spans: wire.Spans{Started: hostile, Withheld: hostile, PerSecond: -1e308}}, {},
		}}, {}},
		Unmatched: []wire.UnmatchedRule{{Rule: hostile, Nearest: hostile}, {}},
		Presets:   []wire.Preset{{Name: hostile, State: hostile, Groups: []string{hostile}}, {}},
		Leases: []wire.Lease{
			{ID: hostile, Owner: hostile, Spec: hostile, Quiet: hostile, Why: hostile, Left: hostile, Groups: []string{hostile}, Quieted: []string{hostile}, Withheld: []string{hostile}, Pending: []string{hostile}},
			{},
		},
		Changes: []wire.Change{{Generation: hostile, Kind: hostile, Who: hostile, Why: hostile, New: []string{hostile}}, {}},
	}
	argument := strings.ReplaceAll(hostile, "\x00", "")
	refusal := wire.Error{Message: hostile, Code: wire.CodeUnknownName, Field: hostile, Generation: hostile, Valid: []string{hostile}, Accept: []string{hostile},
		Unknown: []wire.UnknownName{{Name: hostile, Offset: -5, Suggestion: hostile}, {Name: "all", Offset: 1 << 30}, {Name: "all", Offset: 0, Suggestion: hostile}, {}}}
	stale := refusal
	stale.Code, stale.Unknown = wire.CodeStale, nil
	for status, answer := range map[int]any{200: state, 400: refusal, 401: stale, 412: stale, 201: state.Leases[0]} {
		body, err := json.Marshal(answer)
		require.NoError(t, err)
		url := answering(t, status, "application/json", string(body))
		for _, args := range [][]string{
			{"get"}, {"get", "--on"}, {"get", argument}, {"get", "x"}, {"scopes"}, {"explain", "all," + argument}, {"explain", "all,x"},
			{"set", "all", "--dry-run"}, {"set", argument, "--dry-run"}, {"quiet", "x", "--for", "1m", "--dry-run", "--allow-pending"}, {"get", "--url", "localhost:1"},
			{"set", "all"}, {"reset"}, {"leases"}, {"lease", "all", "--for", "1m"}, {"quiet", "all", "--for", "1m"}, {"release", "x"}, {"extend", "x", "--for", "1m"},
		} {
			for _, args := range [][]string{args, append(args, "--json")} {
				stdout, stderr, code := runCommand(t, append(args, "--url", url)...)
				assert.NotContains(t, stderr, "goroutine", args)
				assert.Less(t, code, 6, args)
				assert.NotRegexp(t, `[^\n\t -~…]`, stdout+stderr, args)
			}
		}
		for _, args := range [][]string{{"__complete", "--url", url, "set", ""}, {"__complete", "--url", url, "release", ""}} {
			stdout, _, _ := runCommand(t, args...)
			assert.NotRegexp(t, `[^\n\t -~…]`, stdout, args)
		}
	}

	body, err := json.Marshal(state)
	require.NoError(t, err)
	stdout, _, code := runCommand(t, "get", "--json", "--url", answering(t, 200, "application/json", string(body)))
	require.Zero(t, code)
	var got wire.State
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	assert.Equal(t, hostile, got.Why, "escaped, and the same text")
}
