// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

func TestJSONSentAsAFormIsRefusedWithTheContentType(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	require.Contains(t, e.form("PUT", "/", `{"spec": "all"}`).refused(400, wire.CodeBadField).Message, "Content-Type: application/json")
}

func TestUnknownFieldIsRefusedWithWhereItBelongs(t *testing.T) {
	e := newEndpoint(t, newFixture(t, control.StartupBaseline(baseline("job"))), anyone())
	l := e.lease(t, "me", "step", time.Hour)
	before := e.State().Generation
	for _, c := range []struct{ method, path, field, text string }{
		{"PUT", "/", "ttl", "it belongs to POST /leases and PATCH /leases/{id}"},
		{"PUT", "/", "owner", "it belongs to POST /leases;"},
		{"PUT", "/", "quiet", "it belongs to POST /leases;"},
		{"PUT", "/", "expires", "the field ttl of POST /leases"},
		{"PUT", "/", "until", "the field ttl of POST /leases"},
		{"PUT", "/", "duration", "the field ttl of POST /leases"},
		{"PUT", "/", "tll", `did you mean "ttl"? It belongs to another route`},
		{"PUT", "/", "onwer", `did you mean "owner"? It belongs to another route`},
		{"PUT", "/", "Spec", `did you mean "spec"?`},
		{"PUT", "/", "specs", `did you mean "spec"?`},
		{"PUT", "/", "wyh", `did you mean "why"?`},
		{"PUT", "/", "alow-pending", `did you mean "allow_pending"?`},
		{"PUT", "/", "enabled", "only read in a whole State"},
		{"PUT", "/", "deny", "only read in a whole State"},
		{"PUT", "/", "leases", "only read in a whole State"},
		{"PUT", "/", "xyzzy", "there are spec, allow_pending, who, why"},
		{"PUT", "/", "", "there are spec, allow_pending, who, why"},
		{"POST", "/leases", "who", "it belongs to PUT /;"},
		{"POST", "/leases", "expires", "the field ttl of POST /leases"},
		{"POST", "/leases", "quite", `did you mean "quiet"?`},
		{"POST", "/leases", "enabled", "only read in a whole State"},
		{"POST", "/leases", "generation", "only read in a whole State"},
		{"PATCH", "/leases/" + l.ID(), "spec", "it belongs to PUT / and POST /leases;"},
		{"PATCH", "/leases/" + l.ID(), "owner", "it belongs to POST /leases;"},
		{"PATCH", "/leases/" + l.ID(), "expires", "the field ttl of POST /leases"},
	} {
		fields := map[string]string{"PUT": "spec=all", "POST": "spec=all&ttl=1h&owner=me", "PATCH": "ttl=2h"}[c.method]
		var object []string
		for _, field := range strings.Split(fields, "&") {
			name, value, _ := strings.Cut(field, "=")
			object = append(object, fmt.Sprintf("%q: %q", name, value))
		}
		for _, r := range []response{
			e.form(c.method, c.path, fields+"&"+c.field+"=5m"),
			e.form(c.method, c.path, c.field+"=5m&"+fields),
			e.json(c.method, c.path, fmt.Sprintf(`{%s, %q: "5m"}`, strings.Join(object, ", "), c.field)),
			e.json(c.method, c.path, fmt.Sprintf(`{%q: ["5m"], %s}`, c.field, strings.Join(object, ", "))),
		} {
			got := r.refused(400, wire.CodeBadField)
			require.Equal(t, c.field, got.Field)
			require.Contains(t, got.Message, "unknown here; ")
			require.Contains(t, got.Message, c.text)
		}
	}
	for _, r := range []response{
		e.form("PUT", "/?ttl=5m", "spec=all"), e.form("PUT", "/?expires=5m", "spec=all"), e.form("PUT", "/?allow_pending=1", "spec=all"),
		e.form("POST", "/leases?why=x", "spec=all&ttl=1h&owner=me"), e.form("PATCH", "/leases/"+l.ID()+"?ttl=5m", "ttl=1h"),
		e.do("DELETE", "/?spec=all", ""), e.do("DELETE", "/leases/"+l.ID()+"?ttl=5m", ""),
	} {
		require.Contains(t, r.refused(400, wire.CodeBadField).Message, "fields belong in the body")
	}
	for _, path := range []string{"/", "/leases/" + l.ID()} {
		e.form("DELETE", path, "why=x").refused(400, wire.CodeMalformed)
		e.json("DELETE", path, "{}").refused(400, wire.CodeMalformed)
	}
	require.Equal(t, before, e.State().Generation)
	require.Equal(t, "job,step", e.on())
	as[wire.State](e.form("PUT", "/?access_token=x", "spec=step"), 200)
	as[wire.State](e.do("DELETE", "/?access_token=x", ""), 200)
	as[wire.Lease](e.form("DELETE", "/leases/"+l.ID(), ""), 200)
}

// TestNearestFieldIsSuggested tries every known field with every single letter left out.
func TestNearestFieldIsSuggested(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	for _, field := range []string{"spec", "quiet", "owner", "allow_pending"} {
		for i := range field {
			got := e.form("POST", "/leases", "spec=job&ttl=1h&owner=me&"+field[:i]+field[i+1:]+"=x").refused(400, wire.CodeBadField)
			require.Contains(t, got.Message, fmt.Sprintf("did you mean %q?", field))
		}
	}
}

func TestStateCanBeSentBackAfterAnOwnerHasUnregistered(t *testing.T) {
	for _, spec := range []string{"all,query", "Query,-TX", "default,query", "per_rollout,tx"} {
		f := newFixture(t)
		f.addDB(t)
		e := newEndpoint(t, f, anyone())
		as[wire.State](e.form("PUT", "/", "who=ann&why=x&spec="+spec), 200)
		before := e.do("GET", "/", "")
		want := as[wire.State](before, 200)
		require.False(t, want.AllowPending)
		e.form("PUT", "/", "spec=step")
		for range 2 { // the second time the State lists its names as pending only
			require.NoError(t, f.registry.Unregister("mydb"))
			s := as[wire.State](e.json("PUT", "/", before.body), 200)
			require.Equal(t, want.Baseline, s.Baseline)
			require.NotEmpty(t, s.Pending)
			before = e.do("GET", "/", "")
			e.form("PUT", "/", "spec=step")
			f.addDB(t)
		}
		s := as[wire.State](e.json("PUT", "/", before.body), 200)
		require.Equal(t, want.Baseline, s.Baseline)
		require.Equal(t, want.Enabled, s.Enabled)
	}
}

func TestStateOfAPinnedRegistryCanBeSentBack(t *testing.T) {
	f := newFixture(t)
	f.addDB(t)
	require.NoError(t, f.SetBaseline(baseline("query")))
	require.NoError(t, f.registry.Unregister("mydb"))
	require.NoError(t, f.registry.Pin("job"))
	e := newEndpoint(t, f, anyone())
	before := e.do("GET", "/", "")
	require.True(t, as[wire.State](before, 200).Pinned)
	require.Equal(t, []string{"query"}, as[wire.State](before, 200).Pending, "of the baseline, which the pin overrides")
	as[wire.State](e.json("PUT", "/", before.body), 200)
}

// TestStateAllowsOnlyTheNamesThatItLists pins that any other name in the spec of an edited State is
// refused.
func TestStateAllowsOnlyTheNamesThatItLists(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	e := newEndpoint(t, f, anyone())
	before := f.State().Generation
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"spec": "query", "generation": "g"}`, 400, wire.CodeUnknownName},
		{`{"spec": "query", "generation": "g", "enabled": ["query"], "roots": ["query"], "leases": [{"name": "query"}]}`, 400, wire.CodeUnknownName},
		{`{"spec": "late", "generation": "g", "pending": [` + manyNames(50_000) + `, "late"]}`, 400, wire.CodeUnknownName},
		{`{"spec": "query,rollouts", "generation": "g", "pending": ["query"]}`, 400, wire.CodeUnknownName},
		{`{"spec": "query", "pending": ["query"]}`, 400, wire.CodeBadField},
		{`{"spec": "query", "pending": ["query"], "generation": ""}`, 400, wire.CodeBadField},
		{`{"spec": "query", "pending": ["query"], "generation": null}`, 400, wire.CodeBadField},
		{`{"spec": "query", "pending": ["query"], "generation": 7}`, 400, wire.CodeBadField},
		{`{"spec": "all", "generation": "g", "ttl": "5m"}`, 400, wire.CodeBadField},
		{`{"generation": "g", "groups": []}`, 400, wire.CodeMissingField},
		{`{"spec": "all", "generation": "g", "generation": "g"}`, 400, wire.CodeBadField},
		{`{"spec": "all", "generation": "g", "leases": [], "leases": []}`, 400, wire.CodeBadField},
		{`{"spec": "all", "generation": "g", "groups": {}}`, 400, wire.CodeMalformed},
		{`{"spec": "all", "generation": "g", "groups": [7]}`, 400, wire.CodeMalformed},
		{`{"spec": "all", "generation": "g", "leases": [`, 400, wire.CodeMalformed},
		{`{"spec": "all", "generation": "g", "leases": [}`, 400, wire.CodeMalformed},
		{`{"spec": "all", "generation": "g", "leases": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, wire.CodeMalformed},
		{`{"spec": "all", "generation": "g", "leases": "` + strings.Repeat("x", 5<<20) + `"}`, 413, wire.CodeTooLarge},
		{`{"leases": [` + strings.Repeat(`"x",`, 1<<16) + `"x"], "spec": "` + strings.Repeat(" ", 64<<10) + `", "generation": "g"}`, 413, wire.CodeTooLarge},
	} {
		e.json("PUT", "/", c.body).refused(c.status, c.code)
	}
	e.form("PUT", "/", "spec=all&generation=g").refused(400, wire.CodeBadField)
	for _, spec := range []string{"a b", "\x1b[31mred", "\u202eevil", `"quoted"`, "$VAR", "-", strings.Repeat("x", 64)} {
		body, err := json.Marshal(map[string]any{"generation": "g", "spec": spec, "pending": []string{spec, strings.TrimPrefix(spec, "-")}})
		require.NoError(t, err)
		e.json("PUT", "/", string(body)).refused(400, wire.CodeUnknownName)
	}
	require.Equal(t, before, f.State().Generation)

	as[wire.State](e.json("PUT", "/", `{"spec": "late", "generation": "g", "pending": [`+manyNames(49_999)+`, "late"]}`), 200)
	s := as[wire.State](e.json("PUT", "/", `{"pending": ["query"], "generation": "g", "spec": "QUERY,job", "groups": [{"name": "x", "members": [{"bit": 3}]}]}`), 200)
	require.Equal(t, []string{"query"}, s.Pending)
	require.False(t, s.AllowPending)
	require.Equal(t, "job", e.on())
}

// manyNames returns the elements of a list of n names.
func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%q", fmt.Sprint("n", i))
	}
	return strings.Join(names, ",")
}

// withLeases returns a fixture with leases on 15 specs.
func withLeases(t testing.TB, leases int) *fixture {
	f := newFixture(t, control.MaxLeases(leases))
	for i := range leases {
		f.lease(t, fmt.Sprint("owner", i), "all,-"+spangate.Gym.Format(1<<(i%15)), time.Hour)
	}
	return f
}

func TestStateOfThousandsOfLeasesCanBeSentBack(t *testing.T) {
	f := withLeases(t, 1500)
	e := newEndpoint(t, f, anyone())
	require.NoError(t, f.SetBaseline(baseline("default,-job")))
	before := e.do("GET", "/", "")
	require.Greater(t, len(before.body), 1<<19)
	require.NoError(t, f.SetBaseline(baseline("")))
	require.Equal(t, "default,-job", as[wire.State](e.json("PUT", "/", before.body), 200).Spec)

	var indented bytes.Buffer // as an editor shows it
	require.NoError(t, json.Indent(&indented, []byte(before.body), "", "    "))
	require.NoError(t, f.SetBaseline(baseline("")))
	require.Equal(t, "default,-job", as[wire.State](e.json("PUT", "/", indented.String()), 200).Spec)
}

// TestListsDoNotCountTowardsTheLengthOfTheRest sends specs of almost the longest body, before and
// after lists that are longer.
func TestListsDoNotCountTowardsTheLengthOfTheRest(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	for _, length := range []int{10_000, 33_000, 50_000, 60_000, 65_000} {
		spec := strings.Repeat(" ", length) + "job"
		lists := `"leases": [{"why": "` + strings.Repeat("x", 100_000) + `"}], "pending": [` + strings.Repeat(`"late",`, 20_000) + `"x"]`
		for _, body := range []string{
			fmt.Sprintf(`{"spec": %q, %s, "generation": "g"}`, spec, lists), fmt.Sprintf(`{%s, "generation": "g", "spec": %q}`, lists, spec),
		} {
			require.Equal(t, spec, as[wire.State](e.json("PUT", "/", body), 200).Spec)
		}
	}
}

func TestLongBodyCostsLittleMemory(t *testing.T) {
	f := newFixture(t)
	h := control.Handler(f.Controller, control.Authorize(control.Anyone()))
	for _, c := range []struct {
		field, element string
		length, status int // of the body
	}{
		{"leases", `{},`, 2 << 20, 400}, // as a tree they would be 32 MiB
		{"groups", `{"name":"NAME"},`, 2 << 20, 400},
		{"pending", `"NAME` + strings.Repeat("x", 1<<18) + `",`, 63 << 19, 400},
		{"leases", `{"why":"` + strings.Repeat("x", 1<<18) + `"},`, 63 << 19, 400},
		{"leases", `{"why":"` + strings.Repeat("x", 1<<18) + `"},`, 65 << 19, 413},
		{"leases", `{"why":"` + strings.Repeat("x", 7<<19) + `"},`, 4 << 20, 400},
		{"leases", `{"why":"` + strings.Repeat("x", 9<<19) + `"},`, 5 << 20, 413},
	} {
		n := 0
		body := io.MultiReader(strings.NewReader(`{"generation":"g","`+c.field+`":[`), &repeated{next: func() string {
			if n += len(c.element); n > c.length {
				return ""
			}
			return strings.Replace(c.element, "NAME", fmt.Sprint(n), 1)
		}}, strings.NewReader(`],"spec":"job"}`))
		r := httptest.NewRequest("PUT", "http://localhost/", body)
		r.Header.Set("Content-Type", "application/json")
		var w *httptest.ResponseRecorder
		most := peakHeap(func() { w = serve(h, r) })
		require.Less(t, most, uint64(24<<20), "%s of %.20s: %s", c.field, c.element, w.Body)
		require.Equal(t, c.status, w.Code, "a comma is last")
	}
}

// repeated reads what next returns, until that is empty.
type repeated struct {
	next func() string
	rest string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.rest = r.next(); r.rest == "" {
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// peakHeap returns the largest growth of the heap, in bytes, in samples taken while fn runs.
func peakHeap(fn func()) (most uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // so that little garbage is counted
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	for {
		select {
		case <-done:
			return most
		case <-time.After(5 * time.Millisecond):
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
}

func TestBodyThatBreaksOffIsRefused(t *testing.T) {
	f := newFixture(t)
	h := control.Handler(f.Controller, control.Authorize(control.Anyone()))
	for _, contentType := range []string{"application/json", "application/x-www-form-urlencoded"} {
		r := httptest.NewRequest("PUT", "http://localhost/", io.MultiReader(strings.NewReader(`{"spec`), iotest.ErrReader(io.ErrUnexpectedEOF)))
		r.Header.Set("Content-Type", contentType)
		w := serve(h, r)
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), "the body breaks off: unexpected EOF")
	}
}

func TestNilRequestBodyIsEmpty(t *testing.T) {
	f := newFixture(t)
	h := control.Handler(f.Controller, control.Authorize(control.Anyone()), nil, control.CrossOrigin(nil))
	for contentType, status := range map[string]int{"application/json": 400, "application/x-www-form-urlencoded": 400, "": 415} {
		for _, c := range []struct{ method, path string }{{"PUT", "/"}, {"POST", "/leases"}, {"PATCH", "/leases/x"}} {
			r := httptest.NewRequest(c.method, "http://localhost"+c.path, nil)
			r.Body = nil
			r.Header.Set("Content-Type", contentType)
			w := serve(h, r)
			require.Equal(t, status, w.Code)
		}
	}
}

func TestHandlerWithoutControllerAnswers503(t *testing.T) {
	for _, c := range []*control.Controller{nil, {}} {
		h := control.Handler(c, control.Authorize(control.Anyone()))
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"} {
			for _, path := range []string{"/", "/leases", "/leases/x", "/page/page.css", "/nope"} {
				w := serve(h, httptest.NewRequest(method, "http://localhost"+path, nil))
				require.Equal(t, http.StatusServiceUnavailable, w.Code)
				require.Contains(t, w.Body.String(), "control.New")
			}
		}
	}
	f := newFixture(t)
	w := serve(control.Handler(f.Controller, control.Authorize(nil)), httptest.NewRequest("DELETE", "http://localhost/", nil))
	require.Equal(t, http.StatusForbidden, w.Code)
}
