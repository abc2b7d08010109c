// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

// endpoint is a fixture behind a real server.
type endpoint struct {
	*fixture
	t   *testing.T
	url string
}

func newEndpoint(t *testing.T, f *fixture, opts ...control.HandlerOption) *endpoint {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/spans", control.Handler(f.Controller, opts...)))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return &endpoint{fixture: f, t: t, url: server.URL + "/spans"}
}

// response is an answer, whose body is read.
type response struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// serve calls a handler without a server.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// do sends a request. headers are pairs of a name and a value.
func (e *endpoint) do(method, path, body string, headers ...string) response {
	e.t.Helper()
	r, err := http.NewRequest(method, e.url+path, strings.NewReader(body))
	require.NoError(e.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	require.NoError(e.t, err)
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	require.NoError(e.t, err)
	return response{t: e.t, status: got.StatusCode, header: got.Header, body: string(b)}
}

func (e *endpoint) form(method, path, body string, headers ...string) response {
	e.t.Helper()
	return e.do(method, path, body, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

func (e *endpoint) json(method, path, body string, headers ...string) response {
	e.t.Helper()
	return e.do(method, path, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// as requires the status, and decodes the body into a T, which must have all of its fields.
func as[T any](r response, status int) (v T) {
	r.t.Helper()
	require.Equal(r.t, status, r.status, r.body)
	require.Equal(r.t, "application/json", r.header.Get("Content-Type"))
	d := json.NewDecoder(strings.NewReader(r.body))
	d.DisallowUnknownFields()
	require.NoError(r.t, d.Decode(&v), r.body)
	return v
}

func (r response) refused(status int, code string) wire.Error {
	r.t.Helper()
	e := as[wire.Error](r, status)
	require.Equal(r.t, code, e.Code)
	require.NotEmpty(r.t, e.Message)
	return e
}

func anyone() control.HandlerOption { return control.Authorize(control.Anyone()) }

func TestGetShowsWhatIsOnAndWhy(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(control.Baseline{Spec: "default,layer", Who: "environment", Why: "X"}), control.Deny("agent"))
	f.addDB(t)
	e := newEndpoint(t, f)
	l, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox,agent", TTL: time.Hour, Why: "slow"})
	require.NoError(t, err)

	s := as[wire.State](e.do("GET", "/", ""), 200)
	require.Equal(t, wire.Baseline{Spec: "default,layer", AllowPending: true, Who: "environment", Why: "X"}, s.Baseline)
	require.False(t, s.Writable)
	require.Equal(t, []string{"http_client", "job", "rollout", "sandbox", "server", "tx"}, s.Enabled)
	require.Equal(t, []string{"layer"}, s.Pending)
	require.Equal(t, "24h0m0s", s.MaxTTL)
	groups := map[string]wire.Group{}
	for _, g := range s.Groups {
		groups[g.Name] = g
	}
	require.Len(t, groups, 17)
	require.Equal(t, wire.Group{Name: "sandbox", On: true, Leases: []string{l.ID()}, Quiet: []string{}, Members: []wire.Member{{Namespace: "nemo_gym", Bit: 14, Doc: "running code or a tool in a sandbox"}}}, groups["sandbox"])
	require.Equal(t, wire.Group{Name: "tx", On: true, Baseline: true, Leases: []string{}, Quiet: []string{}, Members: []wire.Member{{Namespace: "mydb", Bit: 63, Doc: "one transaction"}}}, groups["tx"])
	require.True(t, groups["agent"].Withheld)
	require.False(t, groups["agent"].On)
	require.Equal(t, []string{l.ID()}, groups["agent"].Leases)

	presets := map[string]wire.Preset{}
	for _, p := range s.Presets {
		presets[p.Name] = p
	}
	require.Equal(t, wire.On, presets["default"].State)
	require.Contains(t, presets["default"].Doc, "transactions; the job")
	require.Equal(t, wire.Mixed, presets["per_rollout"].State)
	require.Equal(t, wire.Mixed, presets["all"].State)

	require.Len(t, s.Leases, 1)
	require.Equal(t, "me", s.Leases[0].Owner)
	require.Equal(t, []string{"agent", "sandbox"}, s.Leases[0].Groups)
	require.Equal(t, []string{"agent"}, s.Leases[0].Withheld)
	left, err := time.ParseDuration(s.Leases[0].Left)
	require.NoError(t, err)
	require.InDelta(t, left, s.Leases[0].End.Sub(s.Now), float64(2*time.Millisecond))
	require.LessOrEqual(t, left, time.Hour)
	require.NotEmpty(t, s.Changes)
}

func TestListsAreNeverNullAndNumbersAreSmall(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.registry.Unregister("nemo_gym"))
	e := newEndpoint(t, f, anyone())
	as[wire.Lease](e.form("POST", "/leases", "spec=late&owner=me&ttl=1h&allow_pending=1"), 201)
	as[wire.Lease](e.form("POST", "/leases", "quiet=late&owner=me&ttl=1h&allow_pending=1"), 201)
	var check func(path string, v any)
	check = func(path string, v any) {
		switch v := v.(type) {
		case nil:
			t.Errorf("%s is null", path)
		case float64:
			require.Less(t, v, float64(1<<31), path)
		case map[string]any:
			for name, v := range v {
				check(path+"."+name, v)
			}
		case []any:
			for _, v := range v {
				check(path+"[]", v)
			}
		}
	}
	for _, next := range []func(){func() {}, func() { f.addDB(t) }, func() { e.form("PUT", "/", "spec=late&allow_pending=1") }, func() { f.lease(t, "me", "tx", time.Hour) }} {
		next()
		var v any
		require.NoError(t, json.Unmarshal([]byte(e.do("GET", "/", "").body), &v))
		check("state", v)
	}
}

func TestPutSetsTheBaselineAndDeleteResetsIt(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), anyone())
	s := as[wire.State](e.form("PUT", "/", "spec=default,sandbox&why=the+slow+verifier&who=me"), 200)
	require.Equal(t, wire.Baseline{Spec: "default,sandbox", Who: "me", Why: "the slow verifier"}, s.Baseline)
	require.Equal(t, "job,server,http_client,rollout,sandbox", e.on())
	require.Equal(t, "me", s.Changes[0].Who)

	s = as[wire.State](e.json("PUT", "", `{"spec": ""}`), 200)
	require.Empty(t, e.on(), "an empty spec means nothing on")
	require.Equal(t, "127.0.0.1", s.Who)

	s = as[wire.State](e.do("DELETE", "/", ""), 200)
	require.Equal(t, "job", e.on())
	require.Equal(t, "test", s.Who)
	require.Equal(t, "127.0.0.1", s.Changes[0].Who)
}

func TestStateSentBackRestoresTheIntent(t *testing.T) {
	for _, b := range []control.Baseline{
		{Spec: "all,layer,-query", Who: "environment", Why: "X", AllowPending: true}, {Spec: "all"}, {Spec: ""}, {Spec: " Default ,, -JOB, \u212a", AllowPending: true},
		{Spec: "late", Why: `a"b<c>&d`, AllowPending: true},
	} {
		f := newFixture(t)
		require.NoError(t, f.SetBaseline(b))
		e := newEndpoint(t, f, anyone())
		before := e.do("GET", "/", "")
		e.form("PUT", "/", "spec=step")
		require.Equal(t, "step", e.on())
		after := as[wire.State](e.json("PUT", "/", before.body), 200)
		want := as[wire.State](before, 200)
		require.Equal(t, want.Baseline, after.Baseline)
		require.Equal(t, want.Enabled, after.Enabled)
		require.Equal(t, want.Pending, after.Pending)
		f.addDB(t)
		enabled, _ := f.registry.Resolve(b.Spec)
		require.Equal(t, enabled, f.State().Enabled)
	}
}

func TestLeaseIsGrantedRenewedAndReleasedOverHTTP(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), anyone())
	created := e.form("POST", "/leases", "spec=sandbox&ttl=5m&owner=me&why=slow")
	l := as[wire.Lease](created, 201)
	require.Equal(t, "leases/"+l.ID, created.header.Get("Location"))
	require.Equal(t, []string{"sandbox"}, l.Groups)
	require.Equal(t, "me", l.Owner)
	require.Equal(t, "slow", l.Why)
	require.Equal(t, "job,sandbox", e.on())
	require.Equal(t, created.header.Get("ETag"), e.do("GET", "/", "").header.Get("ETag"))

	l2 := as[wire.Lease](e.json("PATCH", "/leases/"+l.ID, `{"ttl": "1h"}`), 200)
	require.Equal(t, l.Start, l2.Start)
	require.Greater(t, l2.End, l.End)
	require.Equal(t, "127.0.0.1", e.State().Changes[0].Who)

	as[wire.Lease](e.do("DELETE", "/leases/"+l.ID, ""), 200)
	require.Equal(t, "job", e.on())
	require.Equal(t, "127.0.0.1", e.State().Changes[0].Who, "the client and not the owner")
	e.do("DELETE", "/leases/"+l.ID, "").refused(404, wire.CodeNotFound)
	e.form("PATCH", "/leases/"+l.ID, "ttl=1h").refused(404, wire.CodeNotFound)

	l = as[wire.Lease](e.json("POST", "/leases", `{"spec": "late,all", "ttl": "1ns", "owner": "me", "allow_pending": true}`), 201)
	require.Equal(t, []string{"late"}, l.Pending)
}

func TestChangesWithoutAuthorisationAreRefused(t *testing.T) {
	for name, e := range map[string]*endpoint{
		"none": newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job")))),
		"one that refuses": newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), control.Authorize(func(*http.Request) (string, error) {
			return "", errors.New("no changes today")
		})),
		"a token":  newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), control.Authorize(control.BearerToken("secret"))),
		"no token": newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), control.Authorize(control.BearerToken(""))),
	} {
		l := e.lease(t, "me", "job", time.Hour)
		before := e.State()
		for _, r := range []response{
			e.form("PUT", "/", "spec=all"), e.do("DELETE", "/", ""), e.form("POST", "/leases", "spec=all&ttl=1h&owner=me"),
			e.form("PATCH", "/leases/"+l.ID(), "ttl=2h"), e.do("DELETE", "/leases/"+l.ID(), ""),
			e.do("PUT", "/", "junk", "Content-Type", "junk"), e.form("PUT", "/", "spec=all", "Authorization", "Bearer "),
			e.form("PUT", "/", "spec=all", "Authorization", "Bearer wrong"), e.form("PUT", "/", "spec=all", "Authorization", "Basic secret"),
		} {
			switch name {
			case "none":
				require.Contains(t, r.refused(403, wire.CodeForbidden).Message, "give setup.New a setup.Token, or control.Handler a control.Authorize")
				require.Empty(t, r.header.Get("WWW-Authenticate"))
			case "one that refuses":
				require.Contains(t, r.refused(403, wire.CodeForbidden).Message, "no changes today")
				require.Empty(t, r.header.Get("WWW-Authenticate"))
			default:
				require.Contains(t, r.refused(401, wire.CodeUnauthorized).Message, "Authorization: Bearer")
				require.Contains(t, r.header.Get("WWW-Authenticate"), `Bearer realm="spangate"`)
			}
		}
		require.Equal(t, before.Generation, e.State().Generation)
		require.Equal(t, name != "none", as[wire.State](e.do("GET", "/", ""), 200).Writable)
	}
}

func TestAuthoriserNamesTheAuthor(t *testing.T) {
	calls := 0
	e := newEndpoint(t, newFixture(t), control.Authorize(func(r *http.Request) (string, error) {
		calls++
		return r.Header.Get("X-User"), nil
	}))
	s := as[wire.State](e.form("PUT", "/", "spec=job&who=bob", "X-User", "ann"), 200)
	require.Equal(t, "ann", s.Who)
	l := as[wire.Lease](e.form("POST", "/leases", "spec=job&ttl=1h", "X-User", "ann"), 201)
	require.Equal(t, "ann", l.Owner)
	l = as[wire.Lease](e.form("POST", "/leases", "spec=job&ttl=1h&owner=the+team", "X-User", "ann"), 201)
	require.Equal(t, "the team", l.Owner)
	require.Equal(t, "ann", e.State().Changes[0].Who)
	as[wire.Lease](e.do("DELETE", "/leases/"+l.ID, "", "X-User", "bob"), 200)
	require.Equal(t, "bob", e.State().Changes[0].Who)
	e.form("POST", "/leases", "spec=job&ttl=1h").refused(400, wire.CodeBadField)
	require.Equal(t, 5, calls)
	e.do("GET", "/", "")
	require.Equal(t, 5, calls, "a read is not authorised")

	e.form("PUT", "/", "spec=job", "X-User", strings.Repeat("x", 1000)).refused(403, wire.CodeForbidden)
}

func TestAddressStandsForAnAuthorWithoutName(t *testing.T) {
	f := newFixture(t)
	h := control.Handler(f.Controller, control.Authorize(control.Anyone()))
	for address, who := range map[string]string{"192.0.2.1:80": "192.0.2.1", "[::1]:80": "::1", "proxy": "proxy", "a\nb": "program", "": "program"} {
		r := httptest.NewRequest("DELETE", "http://localhost/", nil)
		r.RemoteAddr = address
		serve(h, r)
		require.Equal(t, who, f.State().Changes[0].Who)
	}
}

func TestCrossOriginChangesAreRefused(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	e := newEndpoint(t, f, anyone())
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
	} {
		for _, r := range []response{
			e.form("PUT", "/", "spec=all", headers...), e.do("DELETE", "/", "", headers...), e.form("POST", "/leases", "spec=all&ttl=1h&owner=me", headers...),
		} {
			r.refused(403, wire.CodeCrossOrigin)
		}
	}
	require.Equal(t, "job", e.on())
	as[wire.State](e.form("PUT", "/", "spec=step", "Sec-Fetch-Site", "same-origin"), 200)

	e = newEndpoint(t, f, anyone(), control.CrossOrigin(nil))
	e.form("PUT", "/", "spec=all", "Sec-Fetch-Site", "cross-site").refused(403, wire.CodeCrossOrigin)
	trusting := http.NewCrossOriginProtection()
	require.NoError(t, trusting.AddTrustedOrigin("https://ops.example"))
	e = newEndpoint(t, f, anyone(), control.CrossOrigin(trusting))
	as[wire.State](e.form("PUT", "/", "spec=all", "Origin", "https://ops.example"), 200)
}

func TestUnknownNameIsRefusedWithOffsetAndSuggestion(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), anyone())
	before := e.State().Generation
	for _, r := range []response{
		e.form("PUT", "/", "spec=job%2C+rollouts,zzz"), e.json("PUT", "/", `{"spec": "job, rollouts,zzz"}`),
		e.json("POST", "/leases", `{"spec": "job, rollouts,zzz", "ttl": "5m", "owner": "me"}`),
	} {
		got := r.refused(400, wire.CodeUnknownName)
		require.Equal(t, "spec", got.Field)
		require.Equal(t, []wire.UnknownName{{Name: "rollouts", Offset: 5, Suggestion: "rollout"}, {Name: "zzz", Offset: 14}}, got.Unknown)
		require.Contains(t, got.Valid, "sandbox")
		require.Contains(t, got.Message, `did you mean "rollout"?`)
	}
	require.Equal(t, before, e.State().Generation)

	s := as[wire.State](e.form("PUT", "/", "spec=job,+rollouts&allow_pending=yes"), 200)
	require.Equal(t, []string{"rollouts"}, s.Pending)
}

func TestBadRequestsAreRefusedAndChangeNothing(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job")), control.MaxTTL(time.Hour)), anyone())
	before := e.State().Generation
	for _, c := range []struct {
		response
		status int
		code   string
		text   string // in the message
	}{
		{e.form("PUT", "/", ""), 400, wire.CodeMissingField, "spec"},
		{e.form("PUT", "/", "why=x"), 400, wire.CodeMissingField, "spec"},
		{e.json("PUT", "/", `{}`), 400, wire.CodeMissingField, "spec"},
		{e.json("PUT", "/", `{"spec": null}`), 400, wire.CodeMissingField, "spec"},
		{e.json("PUT", "/", `{"Spec": "all"}`), 400, wire.CodeBadField, `did you mean "spec"?`},
		{e.json("PUT", "/", `{"spec": ["all"]}`), 400, wire.CodeBadField, "a string"},
		{e.json("PUT", "/", `{"spec": 7}`), 400, wire.CodeBadField, "a string"},
		{e.json("PUT", "/", `{"spec": "all", "spec": "job"}`), 400, wire.CodeBadField, "twice"},
		{e.form("PUT", "/", "spec=all&spec=job"), 400, wire.CodeBadField, "twice"},
		{e.form("PUT", "/", "spec=all&allow_pending=perhaps"), 400, wire.CodeBadField, "true or false"},
		{e.json("PUT", "/", `{"spec": "all", "allow_pending": "perhaps"}`), 400, wire.CodeBadField, "true or false"},
		{e.json("PUT", "/", `{"spec": "all", "allow_pending": "yes"}`), 400, wire.CodeBadField, "true or false"},
		{e.json("PUT", "/", `{"spec": "all"} trailing`), 400, wire.CodeMalformed, "follows"},
		{e.json("PUT", "/", `{"spec": "all"}{"spec": "job"}`), 400, wire.CodeMalformed, "follows"},
		{e.json("PUT", "/", `{"spec": "all",}`), 400, wire.CodeMalformed, "byte"},
		{e.json("PUT", "/", `{"spec": "all"`), 400, wire.CodeMalformed, "byte"},
		{e.json("PUT", "/", `["all"]`), 400, wire.CodeMalformed, "object"},
		{e.json("PUT", "/", ``), 400, wire.CodeMalformed, "object"},
		{e.json("PUT", "/", `null`), 400, wire.CodeMalformed, "object"},
		{e.json("PUT", "/", "\ufeff{}"), 400, wire.CodeMalformed, "object"},
		{e.json("PUT", "/", "{\"spec\": \"\xff\"}"), 400, wire.CodeMalformed, "UTF-8"},
		{e.form("PUT", "/", "spec=%ff"), 400, wire.CodeMalformed, "UTF-8"},
		{e.form("PUT", "/", "spec=%zz"), 400, wire.CodeMalformed, "form"},
		{e.form("PUT", "/", "spec=all;job"), 400, wire.CodeMalformed, "form"},
		{e.form("PUT", "/", "spec=all&who=a%0ab"), 400, wire.CodeBadField, "one line"},
		{e.form("PUT", "/", "spec=all&why="+strings.Repeat("x", control.MaxWhyLen+1)), 400, wire.CodeBadField, "at most"},
		{e.form("POST", "/leases", "spec=all&ttl=5m"), 400, wire.CodeBadField, "whose lease"},
		{e.form("POST", "/leases", "spec=all&owner=me"), 400, wire.CodeMissingField, "ttl"},
		{e.form("POST", "/leases", "ttl=5m&owner=me"), 400, wire.CodeMissingField, "spec"},
		{e.form("POST", "/leases", "spec=all&owner=me&ttl=5"), 400, wire.CodeBadField, "duration"},
		{e.json("POST", "/leases", `{"spec": "all", "owner": "me", "ttl": 300}`), 400, wire.CodeBadField, "a string"},
		{e.form("POST", "/leases", "spec=all&owner=me&ttl=0s"), 400, wire.CodeBadField, "more than 0"},
		{e.form("POST", "/leases", "spec=all&owner=me&ttl=-5m"), 400, wire.CodeBadField, "more than 0"},
		{e.form("POST", "/leases", "spec=all&owner=me&ttl=61m"), 400, wire.CodeBadField, "at most 1h"},
		{e.form("POST", "/leases", "spec=all&owner=me&ttl=5m&for=ever"), 400, wire.CodeBadField, "unknown"},
		{e.form("PATCH", "/leases/x", "ttl=5m&spec=all"), 400, wire.CodeBadField, "unknown"},
		{e.form("PATCH", "/leases/x", "ttl=soon"), 400, wire.CodeBadField, "duration"},
		{e.form("PATCH", "/leases/x", "ttl=5m"), 404, wire.CodeNotFound, "has ended"},
		{e.do("DELETE", "/leases/x", ""), 404, wire.CodeNotFound, "has ended"},
		{e.do("GET", "/nope", ""), 404, wire.CodeNotFound, "/leases"},
		{e.do("GET", "//", ""), 404, wire.CodeNotFound, ""},
		{e.do("PUT", "/leases/../", "spec=all"), 404, wire.CodeNotFound, ""},
		{e.do("GET", "/leases/", ""), 404, wire.CodeNotFound, ""},
		{e.do("DELETE", "/leases/a/b", ""), 404, wire.CodeNotFound, ""},
		{e.do("GET", "/page/nope.js", ""), 404, wire.CodeNotFound, ""},
		{e.do("GET", "/page/%2e%2e%2fpage.go", ""), 404, wire.CodeNotFound, ""},
		{e.do("PUT", "/", `spec=all`), 415, wire.CodeMediaType, "application/json"},
		{e.do("PUT", "/", `spec=all`, "Content-Type", "text/plain"), 415, wire.CodeMediaType, "text/plain"},
		{e.do("PUT", "/", `spec=all`, "Content-Type", "multipart/form-data; boundary=x"), 415, wire.CodeMediaType, "multipart"},
		{e.form("PUT", "/", "spec=all", "Content-Encoding", "gzip"), 415, wire.CodeMediaType, "gzip"},
		{e.form("PUT", "/", "spec=all&why="+strings.Repeat("x", 64<<10)), 413, wire.CodeTooLarge, "65536"},
		{e.json("PUT", "/", `{"spec": "`+strings.Repeat(" ", 64<<10)), 413, wire.CodeTooLarge, "65536"},
	} {
		require.Contains(t, c.refused(c.status, c.code).Message, c.text, c.body)
		if c.status == 415 {
			require.Equal(t, []string{"application/json", "application/x-www-form-urlencoded"}, as[wire.Error](c.response, 415).Accept)
		}
	}
	require.Equal(t, before, e.State().Generation)
	require.Equal(t, "job", e.on())
}

func TestMalformedBodyIsRefusedWithTheOffset(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	for body, offset := range map[string]int{
		`[]`:                                 1,
		`{"spec": "job" "why": ""}`:          15,
		`{"spec": tru}`:                      8,
		`{"generation": tru, "spec": "job"}`: 14,
		`{"generation": "x", "groups": {}}`:  31,
		`{"generation": "x", "groups": [1]}`: 32,
		`{"spec": "job"} {}`:                 17,
		"{\"spec\": \"a\xff\"}":              13,
	} {
		assert.Equal(t, offset, e.json("PUT", "/", body).refused(400, wire.CodeMalformed).Offset, body)
	}
	require.Zero(t, e.form("PUT", "/", "spec=%ff").refused(400, wire.CodeMalformed).Offset, "a form has none")
	require.Zero(t, e.form("PUT", "/", "spec=%zz").refused(400, wire.CodeMalformed).Offset)
}

func TestRefusedAuthorAndReasonAreNamedByTheirFields(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	require.Equal(t, "who", e.form("PUT", "/", "spec=all&who=a%0ab").refused(400, wire.CodeBadField).Field)
	require.Equal(t, "owner", e.form("POST", "/leases", "spec=all&ttl=5m&owner=a%0ab").refused(400, wire.CodeBadField).Field)
	require.Equal(t, "why", e.form("PUT", "/", "spec=all&why=a%0ab").refused(400, wire.CodeBadField).Field)
}

func TestBodyOfExactlyTheLimitIsRead(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	body := `{"spec": "job"}`
	as[wire.State](e.json("PUT", "/", body+strings.Repeat(" ", 64<<10-len(body))), 200)
	e.json("PUT", "/", body+strings.Repeat(" ", 64<<10-len(body)+1)).refused(413, wire.CodeTooLarge)
}

func TestContentTypeInAnyCaseWithAnyParametersIsRead(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	for _, contentType := range []string{"application/json", "Application/JSON; charset=utf-8", "application/json;charset", " application/json ;; x=\"", "APPLICATION/json;charset=latin1"} {
		as[wire.State](e.do("PUT", "/", `{"spec": "job"}`, "Content-Type", contentType), 200)
	}
	as[wire.State](e.do("PUT", "/", `spec=job`, "Content-Type", "application/X-WWW-form-urlencoded; charset=UTF-8"), 200)
}

func TestOtherMethodsAreRefusedWithAllow(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	for path, allow := range map[string]string{
		"/": "GET, HEAD, PUT, DELETE", "/leases": "POST", "/leases/x": "PATCH, DELETE", "/page/page.css": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			if strings.Contains(allow, method) {
				continue
			}
			r := e.do(method, path, "")
			require.Equal(t, 405, r.status, "%s %s", method, path)
			require.Equal(t, allow, r.header.Get("Allow"))
			if method != "HEAD" {
				r.refused(405, wire.CodeMethod)
			}
		}
	}
}

func TestAnswerListsAHundredUnknownNames(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	got := e.form("PUT", "/", "spec="+strings.Repeat("x,", 101)).refused(400, wire.CodeUnknownName)
	require.Len(t, got.Unknown, 100)
	require.Equal(t, 198, got.Unknown[99].Offset)
	require.Contains(t, got.Message, "and 93 more")
}

func TestETagIsTheGeneration(t *testing.T) {
	f := newFixture(t)
	e := newEndpoint(t, f, anyone())
	first := e.do("GET", "/", "")
	tag := first.header.Get("ETag")
	require.Equal(t, `"`+as[wire.State](first, 200).Generation+`"`, tag)
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "*", " * "} {
		r := e.do("GET", "/", "", "If-None-Match", header)
		require.Equal(t, 304, r.status, header)
		require.Equal(t, tag, r.header.Get("ETag"))
		require.Empty(t, r.body)
	}
	for _, header := range []string{`"x"`, tag[1:], "", strings.ToUpper(tag), `"a,*,b"`, `*, "x"`} {
		require.Equal(t, 200, e.do("GET", "/", "", "If-None-Match", header).status, header)
	}
	// Every change of the state changes the tag.
	for _, change := range []func(){
		func() { e.form("PUT", "/", "spec=") },
		func() { e.form("POST", "/leases", "spec=job&ttl=1h&owner=me") },
		func() { f.addDB(t) },
		func() { require.NoError(t, f.SetLimits(control.Limits{})) },
		func() { f.registry.SetSpec("") },
	} {
		change()
		r := e.do("GET", "/", "", "If-None-Match", tag)
		require.Equal(t, 200, r.status)
		require.NotEqual(t, tag, r.header.Get("ETag"))
		tag = r.header.Get("ETag")
	}
	require.NotEqual(t, newFixture(t).State().Generation, newFixture(t).State().Generation, "each controller has its own")
}

func TestStaleIfMatchRefusesEveryChange(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	e := newEndpoint(t, f, anyone())
	tag := e.do("GET", "/", "").header.Get("ETag")
	l := f.lease(t, "me", "step", time.Hour) // changes the tag
	before := f.State().Generation
	for _, stale := range []string{tag, `"x"`, "", tag[1 : len(tag)-1], `W/"` + before + `"`, `"a,*,b"`, `"x", *`} {
		for _, r := range []response{
			e.form("PUT", "/", "spec=all", "If-Match", stale), e.do("DELETE", "/", "", "If-Match", stale),
			e.form("POST", "/leases", "spec=all&ttl=1h&owner=me", "If-Match", stale),
			e.form("PATCH", "/leases/"+l.ID(), "ttl=1h", "If-Match", stale), e.do("DELETE", "/leases/"+l.ID(), "", "If-Match", stale),
		} {
			require.Equal(t, before, r.refused(412, wire.CodeStale).Generation)
		}
	}
	require.Equal(t, before, f.State().Generation)

	r := e.form("PUT", "/", "spec=step", "If-Match", `"x", "`+before+`"`)
	as[wire.State](r, 200)
	r = e.form("POST", "/leases", "spec=all&ttl=1h&owner=me", "If-Match", r.header.Get("ETag"))
	as[wire.Lease](r, 201)
	as[wire.State](e.do("DELETE", "/", "", "If-Match", "*"), 200)
}

func TestOneOfConcurrentIfMatchChangesSucceeds(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	tag := e.do("GET", "/", "").header.Get("ETag")
	var writers sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		writers.Go(func() { statuses[i] = e.form("PUT", "/", "spec=all", "If-Match", tag).status })
	}
	writers.Wait()
	won := 0
	for _, status := range statuses {
		if status == 200 {
			won++
		} else {
			require.Equal(t, 412, status)
		}
	}
	require.Equal(t, 1, won)
}

func TestReadsChangeNothing(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), anyone())
	before := e.State().Generation
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/", "/?spec=all", "/?_method=PUT&spec=all"} {
			r := e.form(method, path, "spec=all", "X-HTTP-Method-Override", "PUT")
			require.Equal(t, 200, r.status)
			require.Equal(t, `"`+before+`"`, r.header.Get("ETag"))
		}
	}
	require.Equal(t, before, e.State().Generation)
	require.Empty(t, e.do("HEAD", "/", "").body)
	e.form("PUT", "/?spec=all", "").refused(400, wire.CodeMissingField)
}

func TestAcceptDecidesBetweenPageAndJSON(t *testing.T) {
	f := newFixture(t)
	e := newEndpoint(t, f, anyone())
	const html, jsn = "text/html; charset=utf-8", "application/json"
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": html, "text/html": html, "TEXT/HTML;level=1": html, "text/*": html,
		"text/html;q=0.5, application/json;q=0.4": html, "*/*, text/html;q=1, application/json;q=0.9": html,
		"*/*": jsn, "": jsn, "application/json": jsn, "text/html;q=0.5, application/json": jsn, "text/html, application/json": jsn,
		"application/*, text/html;q=0.1": jsn, "text/html;q=0": jsn, "image/png": jsn, ",;q=,": jsn,
	} {
		r := e.do("GET", "/", "", "Accept", accept)
		require.Equal(t, 200, r.status)
		require.Equal(t, want, r.header.Get("Content-Type"), "%q", accept)
		require.Equal(t, "Accept", r.header.Get("Vary"))
	}
}

func TestPageEscapesOwnersAndReasonsUnderAStrictPolicy(t *testing.T) {
	f := newFixture(t)
	const hostile = `<script>alert(1)</script>"'&`
	_, err := f.Lease(control.LeaseRequest{Owner: hostile, Spec: "late", Why: hostile, TTL: time.Hour, AllowPending: true})
	require.NoError(t, err)
	require.NoError(t, f.SetBaseline(control.Baseline{Spec: "late", Who: hostile, Why: hostile, AllowPending: true}))
	e := newEndpoint(t, f, anyone())
	r := e.do("GET", "/", "", "Accept", "text/html")
	require.NotContains(t, r.body, "<script>alert")
	require.Contains(t, r.body, "alert(1)", "escaped")
	for _, r := range []response{r, e.do("GET", "/", ""), e.do("GET", "/nope", ""), e.do("BREW", "/", ""), e.do("GET", "/page/page.css", ""), e.form("PUT", "/", "spec=job")} {
		policy := r.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			require.Contains(t, policy, part)
		}
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", r.header.Get("Cache-Control"))
		require.Equal(t, "no-referrer", r.header.Get("Referrer-Policy"))
		require.Equal(t, "same-origin", r.header.Get("Cross-Origin-Resource-Policy"))
		require.Equal(t, "DENY", r.header.Get("X-Frame-Options"))
		require.Empty(t, r.header.Get("Access-Control-Allow-Origin"))
	}
	require.Contains(t, e.do("GET", "/page/page.css", "").header.Get("Content-Type"), "text/css")
}

func TestHandlerMountsAnywhere(t *testing.T) {
	f := newFixture(t)
	mux := http.NewServeMux()
	mux.Handle("/debug/spans/", http.StripPrefix("/debug/spans", control.Handler(f.Controller)))
	mux.Handle("/debug/spans", http.StripPrefix("/debug/spans", control.Handler(f.Controller)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	e := &endpoint{fixture: f, t: t, url: server.URL}
	for _, path := range []string{"/debug/spans", "/debug/spans/"} {
		as[wire.State](e.do("GET", path, ""), 200)
	}
	require.Equal(t, 200, e.do("GET", "/debug/spans/page/page.css", "").status)
	e.do("GET", "/debug/spans/debug/spans/", "").refused(404, wire.CodeNotFound)
	e.form("POST", "/debug/spans/leases", "").refused(403, wire.CodeForbidden)

	r := e.do("GET", "/debug/spans?x=y", "", "Accept", "text/html")
	require.Equal(t, 307, r.status)
	require.Equal(t, 200, e.do("HEAD", "/debug/spans?x=y", "", "Accept", "text/html").status)
	require.Equal(t, "./spans/", r.header.Get("Location"), "relative to the slash, where the links of the page start")

	bare := httptest.NewServer(control.Handler(f.Controller))
	t.Cleanup(bare.Close)
	e.url = bare.URL
	require.Equal(t, 200, e.do("GET", "", "", "Accept", "text/html").status)
}

func TestFullAndClosedControllersRefuseChanges(t *testing.T) {
	f := newFixture(t, control.MaxLeases(1))
	e := newEndpoint(t, f, anyone())
	as[wire.Lease](e.form("POST", "/leases", "spec=job&ttl=1h&owner=me"), 201)
	e.form("POST", "/leases", "spec=job&ttl=1h&owner=me").refused(409, wire.CodeTooManyLeases)
	require.NoError(t, f.Close())
	e.form("POST", "/leases", "spec=job&ttl=1h&owner=me").refused(410, wire.CodeClosed)
	e.form("PUT", "/", "spec=job").refused(410, wire.CodeClosed)
	e.do("DELETE", "/", "").refused(410, wire.CodeClosed)
	as[wire.State](e.do("GET", "/", ""), 200)
}

// TestStateOfAWholeJobCanBeSentBack uses as many groups as the libraries of a training job have, all
// of them in every change, and 30 leases.
func TestStateOfAWholeJobCanBeSentBack(t *testing.T) {
	f := newFixture(t)
	var groups []spangate.Group
	for i := range 38 {
		groups = append(groups, spangate.Group{Name: fmt.Sprintf("activation_%d", i), Bit: 1 << i, Doc: "as long as the doc of a group will be"})
	}
	require.NoError(t, f.registry.Register(spangate.MustCatalog("megatron", groups, nil), new(spangate.Gate)))
	for i := range 30 {
		require.NoError(t, f.SetBaseline(baseline("all")))
		f.lease(t, fmt.Sprint("owner", i), "default,sandbox", time.Hour)
	}
	e := newEndpoint(t, f, anyone())
	state := e.do("GET", "/", "")
	s := as[wire.State](e.json("PUT", "/", state.body), 200)
	require.Len(t, s.Enabled, 53)
	t.Logf("%d bytes", len(state.body))
}

func TestStateOfThousandsOfGroupsIsAnswered(t *testing.T) {
	f := newFixture(t)
	for i := range 20 {
		var groups []spangate.Group
		for j := range spangate.MaxGroups {
			groups = append(groups, spangate.Group{Name: fmt.Sprintf("g%d_%d", i, j), Bit: 1 << j})
		}
		require.NoError(t, f.registry.Register(spangate.MustCatalog(fmt.Sprint("lib", i), groups, nil), new(spangate.Gate)))
	}
	e := newEndpoint(t, f, anyone())
	s := as[wire.State](e.form("PUT", "/", "spec=all"), 200)
	require.Len(t, s.Enabled, 20*64+15)
}
