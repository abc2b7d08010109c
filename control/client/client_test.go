// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// process is a program with the real endpoint, which accepts the token s3cret, below /spans/ of
// a server. Its baseline is default.
type process struct {
	*control.Controller
	gate spangate.Gate
	url  string
}

func newProcess(t *testing.T, opts ...control.HandlerOption) *process {
	r, p := registry.New(), &process{}
	require.NoError(t, r.Register(spangate.Gym, &p.gate))
	c, err := control.New(r, control.Logger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	require.NoError(t, c.Configure(control.Baseline{Spec: "default", Who: "test"}))
	p.Controller = c
	if opts == nil {
		opts = []control.HandlerOption{control.Authorize(control.BearerToken("s3cret"))}
	}
	s := httptest.NewServer(http.StripPrefix("/spans", control.Handler(c, opts...)))
	t.Cleanup(s.Close)
	p.url = s.URL + "/spans/"
	return p
}

func TestStateHasScopesAndSpans(t *testing.T) {
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Gym, &gate))
	c, err := control.New(r, control.Scopes(func() ([]control.Scope, []control.UnmatchedRule) {
		return []control.Scope{{Name: "sql", Sites: []control.Site{
			{Rule: "sql = job", Gate: &gate, Group: spangate.BitJob, Started: 1 << 60, Withheld: 1 << 61, CountsWithheld: true},
		}}}, []control.UnmatchedRule{{Rule: "sqll = job", Nearest: "sql"}}
	}))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	s := httptest.NewServer(control.Handler(c))
	defer s.Close()
	state, err := newClient(t, s.URL).State(context.Background())
	require.NoError(t, err)
	spans := wire.Spans{Started: "1152921504606846976", Withheld: "2305843009213693952"}
	assert.Equal(t, []wire.Scope{{Name: "sql", Spans: spans, Sites: []wire.Site{{Rule: "sql = job", Groups: []string{"job"}, Spans: spans}}}}, state.Scopes)
	assert.Equal(t, []wire.UnmatchedRule{{Rule: "sqll = job", Nearest: "sql"}}, state.Unmatched)
	for _, g := range state.Groups {
		if g.Name == "job" {
			assert.Equal(t, &spans, g.Spans)
		} else {
			assert.Equal(t, &wire.Spans{Started: "0"}, g.Spans)
		}
	}
}

// on returns the canonical spec of what the gate shows.
func (p *process) on() string { return spangate.Gym.Format(p.gate.Load()) }

func newClient(t *testing.T, url string, opts ...client.Option) *client.Client {
	c, err := client.New(url, opts...)
	require.NoError(t, err)
	return c
}

func TestEveryRequestHasItsEffect(t *testing.T) {
	p := newProcess(t)
	c := newClient(t, strings.TrimSuffix(p.url, "/"), client.Token("s3cret"), nil)
	assert.Equal(t, p.url, c.URL())
	ctx := t.Context()

	s, err := c.SetBaseline(ctx, wire.Baseline{Spec: "job,sandbox", Who: "ann", Why: "a look"})
	require.NoError(t, err)
	assert.Equal(t, "job,sandbox", p.on())
	assert.Equal(t, wire.Baseline{Spec: "job,sandbox", Who: "ann", Why: "a look"}, s.Baseline)
	got, err := c.State(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"job", "sandbox"}, got.Enabled)
	assert.Equal(t, s.Generation, got.Generation)
	assert.Contains(t, string(got.JSON), `"spec":"job,sandbox"`)

	l, err := c.Lease(ctx, wire.LeaseRequest{Spec: "verify", Quiet: "job", Owner: "bob", TTL: "1h"})
	require.NoError(t, err)
	assert.Equal(t, "verify,sandbox", p.on())
	assert.Equal(t, "bob", l.Owner)
	assert.Contains(t, string(l.JSON), l.ID)
	l, err = c.Renew(ctx, l.ID, 2*time.Hour)
	require.NoError(t, err)
	assert.Equal(t, "2h0m0s", l.Left)
	_, err = c.Release(ctx, l.ID)
	require.NoError(t, err)
	assert.Equal(t, "job,sandbox", p.on())

	_, err = c.ResetBaseline(ctx)
	require.NoError(t, err)
	assert.Equal(t, "job,server,http_client,rollout", p.on())
}

func TestStateSinceIsTheStateOnceItHasChanged(t *testing.T) {
	p := newProcess(t)
	c := newClient(t, p.url)
	s, changed, err := c.StateSince(t.Context(), "")
	require.NoError(t, err)
	require.True(t, changed)
	again, changed, err := c.StateSince(t.Context(), s.Generation)
	assert.NoError(t, err)
	assert.False(t, changed)
	assert.Nil(t, again)
	require.NoError(t, p.SetBaseline(control.Baseline{Spec: "all", Who: "test"}))
	again, changed, err = c.StateSince(t.Context(), s.Generation)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, "all", again.Spec)
}

func TestChangeIsMadeOnlyToTheGenerationOfIfMatch(t *testing.T) {
	p := newProcess(t, control.Authorize(control.Anyone()))
	c := newClient(t, p.url)
	before, err := c.State(t.Context())
	require.NoError(t, err)
	match := client.IfMatch(before.Generation)
	l, err := c.Lease(t.Context(), wire.LeaseRequest{Spec: "sandbox", Owner: "ann", TTL: "1h"}, match, nil)
	require.NoError(t, err)
	on := p.on()
	for name, change := range map[string]func(client.ChangeOption) error{
		"set": func(o client.ChangeOption) error {
			_, err := c.SetBaseline(t.Context(), wire.Baseline{Spec: "all"}, o)
			return err
		},
		"reset": func(o client.ChangeOption) error { _, err := c.ResetBaseline(t.Context(), o); return err },
		"lease": func(o client.ChangeOption) error {
			_, err := c.Lease(t.Context(), wire.LeaseRequest{Spec: "all", Owner: "ann", TTL: "1h"}, o)
			return err
		},
		"renew":   func(o client.ChangeOption) error { _, err := c.Renew(t.Context(), l.ID, time.Minute, o); return err },
		"release": func(o client.ChangeOption) error { _, err := c.Release(t.Context(), l.ID, o); return err },
	} {
		err := change(match)
		assert.ErrorIs(t, err, client.ErrStale, name)
		var failed *client.Error
		require.ErrorAs(t, err, &failed)
		now, err := c.State(t.Context())
		require.NoError(t, err)
		assert.Equal(t, now.Generation, failed.Refusal.Generation)
		for _, none := range []string{"", `""`, "a b", "a,b", "*", "é", "a\n"} {
			err := change(client.IfMatch(none))
			assert.ErrorContains(t, err, "no generation looks like that", "%q", none)
			assert.ErrorIs(t, err, client.ErrArgument)
			assert.False(t, errors.As(err, &failed), "it is not sent")
		}
	}
	assert.Equal(t, on, p.on())
	now, err := c.State(t.Context())
	require.NoError(t, err)
	_, err = c.Release(t.Context(), l.ID, client.IfMatch(`"`+now.Generation+`"`))
	assert.NoError(t, err)
}

func TestRefusalHasStatusCodeFieldAndText(t *testing.T) {
	p := newProcess(t)
	readonly := newProcess(t, control.Authorize(nil))
	c := newClient(t, p.url, client.Token("s3cret"))
	ctx := t.Context()
	set := func(c *client.Client, spec string) error {
		_, err := c.SetBaseline(ctx, wire.Baseline{Spec: spec})
		return err
	}
	_, gone := c.Release(ctx, "x")
	_, late := c.Renew(ctx, "x", time.Minute)
	_, long := c.Lease(ctx, wire.LeaseRequest{Spec: "all", Owner: "ann", TTL: "99h"})
	for name, test := range map[string]struct {
		err         error
		is          error
		status      int
		code, field string
		text        string
	}{
		"unknown name": {set(c, "job,sandboxx"), nil, 400, wire.CodeUnknownName, "spec", `unknown name "sandboxx"`},
		"long lease":   {long, nil, 400, wire.CodeBadField, "ttl", "24h0m0s"},
		"no token":     {set(newClient(t, p.url), "all"), client.ErrPermission, 401, wire.CodeUnauthorized, "", "the authoriser refuses"},
		"wrong token":  {set(newClient(t, p.url, client.Token("x")), "all"), client.ErrPermission, 401, wire.CodeUnauthorized, "", "the authoriser refuses"},
		"read-only":    {set(newClient(t, readonly.url), "all"), client.ErrPermission, 403, wire.CodeForbidden, "", "no authoriser"},
		"release":      {gone, client.ErrNotFound, 404, wire.CodeNotFound, "", `lease "x"`},
		"renewal":      {late, client.ErrNotFound, 404, wire.CodeNotFound, "", `lease "x"`},
	} {
		var failed *client.Error
		require.ErrorAs(t, test.err, &failed, name)
		assert.Equal(t, test.status, failed.Status, name)
		assert.Equal(t, test.code, failed.Refusal.Code, name)
		assert.Equal(t, test.field, failed.Refusal.Field, name)
		assert.False(t, failed.Unanswered, name)
		assert.Contains(t, test.err.Error(), "spangate/control/client: http://", name)
		assert.Contains(t, test.err.Error(), "/spans/ refuses: ", name)
		assert.Contains(t, test.err.Error(), test.text, name)
		for _, target := range []error{client.ErrUnreachable, client.ErrPermission, client.ErrStale, client.ErrNotFound} {
			assert.Equal(t, test.is == target, errors.Is(test.err, target), "%s: %v", name, target)
		}
	}
	var failed *client.Error
	require.ErrorAs(t, set(c, "job,sandboxx"), &failed)
	assert.Equal(t, []wire.UnknownName{{Name: "sandboxx", Offset: 4, Suggestion: "sandbox"}}, failed.Refusal.Unknown)
	assert.Contains(t, failed.Refusal.Valid, "sandbox")
	assert.Equal(t, "job,server,http_client,rollout", p.on())
}

func TestURL(t *testing.T) {
	for text, url := range map[string]string{
		"http://localhost:8080/spans/":  "http://localhost:8080/spans/",
		"http://localhost:8080/spans":   "http://localhost:8080/spans/",
		"http://localhost:8080/spans//": "http://localhost:8080/spans/",
		"http://localhost:8080":         "http://localhost:8080/",
		"localhost:8080/spans":          "http://localhost:8080/spans/",
		"localhost":                     "http://localhost/",
		" localhost:8080\n":             "http://localhost:8080/",
		"[::1]:8080/a/b":                "http://[::1]:8080/a/b/",
		"https://[2001:db8::1]/a":       "https://[2001:db8::1]/a/",
		"http://[fe80::1%25eth0]:80/":   "http://[fe80::1%25eth0]:80/",
		"HTTPS://Host/a%2Fb":            "https://Host/a%2Fb/",
	} {
		assert.Equal(t, url, newClient(t, text).URL(), text)
	}
	for text, message := range map[string]string{
		"":                         "names no host",
		"http://":                  "names no host",
		"http://:8080/":            "names no host",
		"ftp://host/":              "not http or https",
		"http://ann:s3cret@host/":  "it has a user in it",
		"http://ann:s3cret@host:x": "invalid port",
		"http://host/?a=b":         "query or fragment",
		"http://host/#a":           "query or fragment",
		"http://ho st/":            "invalid character",
		"http://[::1/":             "missing ']'",
		"http://host/%zz":          "invalid URL escape",
		"http://host/\x00":         "invalid control character",
	} {
		c, err := client.New(text)
		assert.Nil(t, c)
		assert.ErrorIs(t, err, client.ErrArgument)
		if assert.ErrorContains(t, err, message, text) {
			assert.ErrorContains(t, err, "as in http://localhost:8080/spans/", text)
			assert.NotContains(t, err.Error(), "s3cret")
		}
	}
}

func TestTokenIsNeverPrinted(t *testing.T) {
	c := newClient(t, "localhost", client.Token("s3cret"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		assert.NotContains(t, fmt.Sprintf(verb, c), "s3cret", verb)
		assert.NotContains(t, fmt.Sprintf(verb, *c), "s3cret", verb)
	}
	for _, token := range []string{"a b", "a\nb", "a\n", "a\x00", "é"} {
		_, err := client.New("localhost", client.Token(token))
		assert.ErrorContains(t, err, "the token has space or other characters in it that no token has", "%q", token)
		assert.ErrorIs(t, err, client.ErrArgument)
		assert.NotContains(t, err.Error(), token)
	}
}

func TestArgumentThatCannotBeSentIsAnError(t *testing.T) {
	c := newClient(t, "localhost:1")
	for _, id := range []string{"", ".", "..", "../", "a/b", "a?b", "a#b", `a\b`, "%2e", "a b", "a\n", "é"} {
		_, err := c.Release(t.Context(), id)
		assert.ErrorContains(t, err, "is no id of a lease")
		assert.ErrorIs(t, err, client.ErrArgument)
		_, err = c.Renew(t.Context(), id, time.Minute)
		assert.ErrorContains(t, err, "is no id of a lease")
	}
	var none context.Context
	_, err := c.State(none)
	assert.ErrorContains(t, err, "nil context")
	for _, c := range []*client.Client{nil, {}} {
		assert.Empty(t, c.URL())
		for _, err := range everyRequest(t.Context(), c) {
			assert.ErrorContains(t, err, "a Client that New has not returned has no URL")
		}
	}
	assert.Equal(t, "spangate/control/client: ", new(client.Error).Error())
	assert.NoError(t, new(client.Error).Unwrap())
}

// everyRequest returns the errors of one request of each kind, the two that read first.
func everyRequest(ctx context.Context, c *client.Client) (errs []error) {
	_, err := c.State(ctx)
	errs = append(errs, err)
	_, _, err = c.StateSince(ctx, "a")
	errs = append(errs, err)
	_, err = c.SetBaseline(ctx, wire.Baseline{})
	errs = append(errs, err)
	_, err = c.ResetBaseline(ctx)
	errs = append(errs, err)
	_, err = c.Lease(ctx, wire.LeaseRequest{})
	errs = append(errs, err)
	_, err = c.Renew(ctx, "x", time.Minute)
	errs = append(errs, err)
	_, err = c.Release(ctx, "x")
	return append(errs, err)
}

func TestProgramThatImportsTheClientBuildsNothingElse(t *testing.T) {
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	const module = "github.com/spangate/spangate/"
	assert.ElementsMatch(t, []string{module + "control/client", module + "control/wire", module + "internal/spec"}, strings.Fields(string(packages)))
}
