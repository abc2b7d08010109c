// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

func TestBearerTokenAllowsTheTokenInAnySpelling(t *testing.T) {
	// The token as a file may hold it.
	e := newEndpoint(t, newFixture(t), control.Authorize(control.BearerToken(" \ts3cret\r\n")))
	for _, value := range []string{"Bearer s3cret", "bearer  s3cret", "BEARER s3cret "} {
		as[wire.State](e.form("PUT", "/", "spec=job", "Authorization", value), 200)
	}
	e.form("PUT", "/", "spec=job", "Authorization", "Bearer s3cre").refused(401, wire.CodeUnauthorized)
}

func TestBlankTokensAllowNothing(t *testing.T) {
	for _, a := range []control.Authorizer{
		control.BearerToken(""), control.BearerToken("\n"), control.BearerTokens(nil), control.BearerTokens(map[string]string{"ann": " ", "bob": ""}),
	} {
		e := newEndpoint(t, newFixture(t), control.Authorize(a))
		for _, value := range []string{"Bearer", "Bearer ", "Bearer  \t", ""} {
			r := e.form("PUT", "/", "spec=all", "Authorization", value)
			require.Contains(t, r.refused(401, wire.CodeUnauthorized).Message, "a blank token, which allows no request; give setup.Token or control.BearerToken another")
		}
	}
}

func TestNameOfATokenReplacesTheNameInTheBody(t *testing.T) {
	tokens := map[string]string{"ann": "a-token\n", "bob": "b-token", "carl": "b-token", "blank": ""}
	e := newEndpoint(t, newFixture(t), control.Authorize(control.BearerTokens(tokens)))
	tokens["eve"] = "e-token"
	s := as[wire.State](e.form("PUT", "/", "spec=job&who=bob", "Authorization", "Bearer a-token"), 200)
	require.Equal(t, "ann", s.Who)
	s = as[wire.State](e.form("PUT", "/", "spec=job", "Authorization", "bearer  b-token "), 200)
	require.Equal(t, "bob", s.Who, "the first of two with one token")
	l := as[wire.Lease](e.form("POST", "/leases", "spec=job&ttl=1h", "Authorization", "Bearer a-token"), 201)
	require.Equal(t, "ann", l.Owner)
	l = as[wire.Lease](e.form("POST", "/leases", "spec=job&ttl=1h&owner=the+team", "Authorization", "Bearer a-token"), 201)
	require.Equal(t, "the team", l.Owner)
	require.Equal(t, "ann", e.State().Changes[0].Who)
	as[wire.Lease](e.do("DELETE", "/leases/"+l.ID, "", "Authorization", "Bearer b-token"), 200)
	require.Equal(t, "bob", e.State().Changes[0].Who)
	e.form("PUT", "/", "spec=job", "Authorization", "Bearer e-token").refused(401, wire.CodeUnauthorized)
}

func TestMissingAndWrongCredentialsHaveDifferentChallenges(t *testing.T) {
	e := newEndpoint(t, newFixture(t), control.Authorize(control.BearerToken("s3cret")))
	for value, want := range map[string]string{
		"": `Bearer realm="spangate"`, "Basic s3cret": `Bearer realm="spangate"`, "s3cret": `Bearer realm="spangate"`,
		"Bearer wrong": `Bearer realm="spangate", error="invalid_token"`,
	} {
		r := e.form("PUT", "/", "spec=all", "Authorization", value)
		r.refused(401, wire.CodeUnauthorized)
		require.Equal(t, []string{want}, r.header.Values("WWW-Authenticate"), value)
		require.NotContains(t, r.body, "s3cret")
	}
	require.Empty(t, e.on())
}

func TestUnauthorizedIsAnsweredWith401(t *testing.T) {
	var refusal error
	e := newEndpoint(t, newFixture(t), control.Authorize(func(*http.Request) (string, error) { return "", refusal }))
	for _, c := range []struct {
		err                error
		status             int
		challenge, message string
	}{
		{&control.Unauthorized{Challenge: `Basic realm="spans"`, Err: errors.New("log in")}, 401, `Basic realm="spans"`, "log in"},
		{fmt.Errorf("wrapped: %w", &control.Unauthorized{}), 401, `Bearer realm="spangate"`, "wrapped: credentials"},
		{(*control.Unauthorized)(nil), 401, `Bearer realm="spangate"`, "credentials"},
		{errors.New("no changes today"), 403, "", "no changes today"},
	} {
		refusal = c.err
		r := e.do("DELETE", "/", "")
		require.Contains(t, r.refused(c.status, map[int]string{401: wire.CodeUnauthorized, 403: wire.CodeForbidden}[c.status]).Message, c.message)
		require.Equal(t, c.challenge, r.header.Get("WWW-Authenticate"))
	}
	cause := errors.New("cause")
	require.ErrorIs(t, &control.Unauthorized{Err: cause}, cause)
}

func TestAnyoneAllowsThisMachineAndGivenHosts(t *testing.T) {
	for _, c := range []struct {
		host    string
		hosts   []string
		allowed bool
	}{
		{host: "localhost", allowed: true}, {host: "localhost:8080", allowed: true}, {host: "LocalHost.:8080", allowed: true}, {host: "spans.localhost:80", allowed: true},
		{host: "127.0.0.1", allowed: true}, {host: "127.0.0.1:8080", allowed: true}, {host: "127.1.2.3", allowed: true}, {host: "127.1:80", allowed: true},
		{host: "0x7f.1", allowed: true}, {host: "2130706433", allowed: true}, {host: "0177.0.0.1", allowed: true}, {host: "0X7F000001:1", allowed: true},
		{host: "[::1]", allowed: true}, {host: "[::1]:8080", allowed: true}, {host: "[0:0:0:0:0:0:0:1]:8080", allowed: true}, {host: "[::ffff:127.0.0.1]:80", allowed: true},
		{host: "[::1%25lo]:80", allowed: true},
		{host: "evil.example"}, {host: "evil.example:80"}, {host: "localhost.evil.example"}, {host: "127.0.0.1.evil.example"}, {host: "evil-localhost"},
		{host: "xlocalhost"}, {host: "localhost:80@evil.example"}, {host: "evil.example#.localhost"}, {host: "192.168.0.1"}, {host: "0.0.0.0"}, {host: "128.0.0.1"},
		{host: "[::2]:80"}, {host: "[::]"}, {host: ""}, {host: ":80"}, {host: "127_0.0.1"}, {host: "127.0.0.256"}, {host: "127.0.0.0.1"}, {host: "0b1111111.1"},
		{host: "ops.example:8443", hosts: []string{"OPS.example"}, allowed: true}, {host: "ops.example", hosts: []string{"x", "ops.example.:1"}, allowed: true},
		{host: "192.168.0.1:80", hosts: []string{"192.168.0.1"}, allowed: true}, {host: "[fe80::1]:80", hosts: []string{"fe80:0::1"}, allowed: true},
		{host: "localhost", hosts: []string{"ops.example"}, allowed: true}, {host: "sub.ops.example", hosts: []string{"ops.example"}}, {host: "", hosts: []string{""}},
	} {
		f := newFixture(t)
		h := control.Handler(f.Controller, control.Authorize(control.Anyone(c.hosts...)))
		r := httptest.NewRequest("PUT", "/", strings.NewReader("spec=job"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = c.host
		w := serve(h, r)
		if c.allowed {
			require.Equal(t, 200, w.Code, "%q %s", c.host, w.Body)
		} else {
			require.Equal(t, 403, w.Code, "%q %s", c.host, w.Body)
			require.Empty(t, f.on())
		}
		r = httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		require.Equal(t, 200, serve(h, r).Code, "reads are not authorised")
	}
}

func TestAuthoriserGetsTheRequestAsItCame(t *testing.T) {
	f := newFixture(t)
	var got []string
	h := control.Handler(f.Controller, control.Authorize(func(r *http.Request) (string, error) {
		got = append(got, r.Method+" "+r.URL.String()+" "+r.RequestURI+" "+r.Pattern)
		return r.URL.Query().Get("user"), nil
	}))
	mux := http.NewServeMux()
	mux.Handle("/a%20b/", http.StripPrefix("/a b", h))
	mux.Handle("/", h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	e := &endpoint{fixture: f, t: t, url: server.URL}
	e.form("POST", "/leases?user=ann&x=%2f", "spec=job&ttl=1h")
	e.do("DELETE", "/leases/a%2eb?user=ann", "")
	e.form("PUT", "/a%20b/?user=ann", "spec=job")
	require.Equal(t, []string{
		"POST /leases?user=ann&x=%2f /leases?user=ann&x=%2f /",
		"DELETE /leases/a%2eb?user=ann /leases/a%2eb?user=ann /",
		"PUT /?user=ann /a%20b/?user=ann /a%20b/",
	}, got)
	require.Equal(t, "ann", f.State().Baseline.Who)
}

func TestBadNameFromTheAuthoriserRefusesEveryChange(t *testing.T) {
	for _, c := range names {
		if c.visible {
			continue
		}
		f := newFixture(t, control.StartupBaseline(baseline("job")))
		l := f.lease(t, "me", "step", time.Hour)
		e := newEndpoint(t, f, control.Authorize(func(*http.Request) (string, error) { return c.name, nil }))
		before, end := f.State().Generation, f.State().Leases[0].End
		for _, r := range []response{
			e.form("PUT", "/", "spec=all&who=me"), e.do("DELETE", "/", ""), e.form("POST", "/leases", "spec=all&ttl=1h&owner=me"),
			e.form("PATCH", "/leases/"+l.ID(), "ttl=2h"), e.do("DELETE", "/leases/"+l.ID(), ""),
		} {
			require.Contains(t, r.refused(403, wire.CodeForbidden).Message, "a name that the change log can't show", "%+q", c.name)
		}
		require.Equal(t, before, f.State().Generation)
		require.Equal(t, end, f.State().Leases[0].End)
		require.Equal(t, "job,step", f.on())
	}
}

func TestRefusedChangesAreLoggedWithoutTheToken(t *testing.T) {
	log := new(lockedBuffer)
	f := newFixture(t, control.Logger(slog.New(slog.NewTextHandler(log, nil))))
	e := newEndpoint(t, f, control.Authorize(control.BearerTokens(map[string]string{"ann": "r1ght"})))
	e.form("PUT", "/?access_token=wr0ng", "spec=wr0ng&who=wr0ng", "Authorization", "Bearer wr0ng", "Cookie", "wr0ng").refused(401, wire.CodeUnauthorized)
	e.form("PATCH", "/leases/x", "ttl=1h", "Authorization", "Bearer r1ght").refused(404, wire.CodeNotFound)
	e.form("POST", "/leases", "spec=wr0ng&owner=me&ttl=1h", "Authorization", "Bearer r1ght").refused(400, wire.CodeUnknownName)
	e.form("PUT", "/", "wr0ng", "Authorization", "Bearer r1ght").refused(400, wire.CodeBadField) // an unknown field name
	require.Eventually(t, func() bool { return strings.Count(log.String(), "was refused") == 4 }, 10*time.Second, time.Millisecond, "%s", log)
	for _, want := range []string{
		`method=PUT path=/ from=127.0.0.1:`, `who="" status=401 code=unauthorized`,
		`method=PATCH path=/leases/x from=127.0.0.1:`, `who=ann status=404 code=not_found`,
		`method=POST path=/leases from=127.0.0.1:`, `who=ann status=400 code=unknown_name field=spec`,
	} {
		require.Contains(t, log.String(), want)
	}
	require.NotContains(t, log.String(), "wr0ng")
	require.NotContains(t, log.String(), "r1ght")

	e.do("GET", "/nope", "")
	for range 100 {
		e.do("DELETE", "/", "").refused(401, wire.CodeUnauthorized)
	}
	require.Less(t, strings.Count(log.String(), "was refused"), 100, "not more than a few a second")
}
