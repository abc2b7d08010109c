// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
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
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Basic realm=\"\u202e\"")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnswersThatTheEndpointDoesNotGive(t *testing.T) {
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
		{"a page that wants a name", 401, "", "", exitRefused, "answers 401 Unauthorized, which wants the credentials Basic realm=\"\\u202e\", and an empty body"},
		{"a proxy that wants a name", 407, "", "", exitRefused, "answers 407 Proxy Authentication Required and an empty body"},
		{"nothing", 200, "application/json", "", exitFailed, "answers 200 OK and an empty body"},
		{"other JSON", 200, "application/json", `{"status":"ok"}`, exitFailed, "answers with JSON that is not a state"},
		{"no object", 200, "application/json", `[]`, exitFailed, "answers 200 OK with application/json that begins"},
		{"null", 200, "application/json", `null`, exitFailed, "not a state"},
		{"fields of another type", 200, "application/json", `{"generation":7}`, exitFailed, "which is not the JSON of the endpoint"},
		{"half an answer", 200, "application/json", `{"generation":"a`, exitFailed, "which is not the JSON of the endpoint"},
		{"what would take the terminal over", 200, ";", "\x1b[2J\u202e", exitFailed, `with no content type that begins "\x1b[2J\u202e"`},
		{"an error of its own", 500, "application/json", `{"error":"oops"}`, exitFailed, "answers 500 Internal Server Error with application/json"},
		{"a status that has no name", 799, "text/plain", "?", exitFailed, "answers 799 with text/plain"},
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

// The endpoint, or what is in its place, may send any text in any field.
func TestNothingInAnAnswerMovesTheCursorOrPanics(t *testing.T) {
	const evil = "\x1b[2J\u009b31m\r\n\u202e\x00\x7f\U000e0001"
	state := wire.State{
		Baseline: wire.Baseline{Spec: evil, Who: evil, Why: evil}, Startup: wire.Baseline{Spec: evil + evil},
		Generation: evil, Deny: evil, Ceiling: evil, Enabled: []string{evil}, Roots: []string{evil}, Pending: []string{evil}, MaxTTL: evil,
		Groups: []wire.Group{
			{Name: evil, Leases: []string{"gone", evil, "", "x", "y"}, Quiet: []string{evil, "gone"}, Withheld: true, Members: []wire.Member{{Namespace: evil, Doc: evil, Bit: -1}}},
			{},
		},
		Presets: []wire.Preset{{Name: evil, State: evil, Groups: []string{evil}}, {}},
		Leases: []wire.Lease{
			{ID: evil, Owner: evil, Spec: evil, Quiet: evil, Why: evil, Left: evil, Groups: []string{evil}, Quieted: []string{evil}, Withheld: []string{evil}, Pending: []string{evil}},
			{},
		},
		Changes: []wire.Change{{Generation: evil, Kind: evil, Who: evil, Why: evil, New: []string{evil}}, {}},
	}
	refusal := wire.Error{Message: evil, Code: wire.CodeUnknownName, Field: evil, Generation: evil, Valid: []string{evil}, Accept: []string{evil},
		Unknown: []wire.UnknownName{{Name: evil, Offset: -5, Suggestion: evil}, {Name: "all", Offset: 1 << 30}, {Name: "all", Offset: 0, Suggestion: evil}, {}}}
	stale := refusal
	stale.Code, stale.Unknown = wire.CodeStale, nil
	for status, answer := range map[int]any{200: state, 400: refusal, 401: stale, 412: stale, 201: state.Leases[0]} {
		body, err := json.Marshal(answer)
		require.NoError(t, err)
		url := answering(t, status, "application/json", string(body))
		for _, args := range [][]string{{"get"}, {"set", "all"}, {"reset"}, {"leases"}, {"lease", "all", "--for", "1m"}, {"quiet", "all", "--for", "1m"}, {"release", "x"}, {"extend", "x", "--for", "1m"}} {
			for _, args := range [][]string{args, append(args, "--json")} {
				stdout, stderr, code := ended(t, append(args, "--url", url)...)
				assert.NotContains(t, stderr, "goroutine", args)
				assert.Less(t, code, 6, args)
				assert.NotRegexp(t, `[^\n\t -~…]`, stdout+stderr, args)
			}
		}
		for _, args := range [][]string{{"__complete", "--url", url, "set", ""}, {"__complete", "--url", url, "release", ""}} {
			stdout, _, _ := ended(t, args...)
			assert.NotRegexp(t, `[^\n\t -~…]`, stdout, args)
		}
	}

	body, err := json.Marshal(state)
	require.NoError(t, err)
	stdout, _, code := ended(t, "get", "--json", "--url", answering(t, 200, "application/json", string(body)))
	require.Zero(t, code)
	var got wire.State
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	assert.Equal(t, evil, got.Why, "escaped, and the same text")
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

func TestCertificateThatIsNotTrusted(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	_, stderr, code := ended(t, "get", "--url", s.URL)
	assert.Equal(t, exitUnreachable, code)
	assert.Contains(t, stderr, "its certificate is not trusted")
	assert.Contains(t, stderr, "SSL_CERT_FILE")
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
