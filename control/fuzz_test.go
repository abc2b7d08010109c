// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// FuzzHandler pins that no request panics or is answered with 5xx, every answer is JSON of the
// documented shape, and neither a request without authorisation, nor a read, nor a refusal changes
// anything.
func FuzzHandler(f *testing.F) {
	const (
		form = "application/x-www-form-urlencoded"
		jsn  = "application/json"
		all  = `{"spec": "all"}`
	)
	f.Add("GET", "/", "", "", "text/html", "", "", "", false)                                          // the page
	f.Add("GET", "/", "", "", "", "*", "", "", false)                                                  // not modified
	f.Add("HEAD", "", form, "spec=all", "", "", "", "", true)                                          // a read with a body
	f.Add("PUT", "/", form, "spec=default,sandbox&why=x", "", "", "", "", true)                        // a baseline
	f.Add("PUT", "/", jsn, `{"spec": "late", "allow_pending": true}`, "", "", "", "", true)            // pending
	f.Add("PUT", "/", jsn, all+"x", "", "", "", "", true)                                              // junk after it
	f.Add("PUT", "/", jsn+"; charset=utf-8", `{"spec": "rollouts,-sandbx"}`, "", "", "", "", true)     // typos
	f.Add("PUT", "/", jsn, all, "", "", `"x"`, "", true)                                               // stale
	f.Add("PUT", "/", jsn, all, "", "", "", "https://evil.example", true)                              // another site
	f.Add("PUT", "/", jsn, all, "", "", "", "", false)                                                 // without authorisation
	f.Add("PUT", "/", "text/plain", "spec=all", "", "", "", "", true)                                  // not read
	f.Add("DELETE", "/", "", "", "", "", "*", "", true)                                                // back to the start
	f.Add("POST", "/leases", form, "spec=all&ttl=5m&owner=me", "", "", "", "", true)                   // a lease
	f.Add("POST", "/leases", form, "spec=all&ttl=5m&owner=me", "text/html", "", "", "", true)          // one of the page without a script
	f.Add("POST", "/leases", jsn, `{"spec":"all","ttl":"-5m","owner":"\ud800"}`, "", "", "", "", true) // a bad one
	f.Add("POST", "/leases", form, "quiet=job,-server&ttl=5m&owner=me", "", "", "", "", true)          // one that quiets
	f.Add("POST", "/leases", jsn, `{"spec":"-all","quiet":"late","ttl":"1h","owner":"me\u200b","allow_pending":true}`, "", "", "", "", true)
	f.Add("POST", "/leases", jsn, `{"quiet":"","spec":" ","ttl":"1h","owner":"\u202e"}`, "", "", "", "", true) // without effect, of an invisible owner
	f.Add("PUT", "/", form, "spec=all&ttl=5m", "", "", "", "", true)                                           // a field of another route
	f.Add("PUT", "/", jsn, "STATE", "", "", "", "", true)                                                      // a state, sent back
	f.Add("PUT", "/", jsn, `{"generation":"g","spec":"gone","groups":[{"name":"gone","x":[[]]}],"pending":null}`, "", "", "", "", true)
	f.Add("PATCH", "/leases/LEASE", form, "ttl=1ns", "", "", "", "", true)                        // shortened
	f.Add("DELETE", "/leases/LEASE", "", "", "", "", "", "", true)                                // released
	f.Add("DELETE", "/leases/..%2f", "", "", "", "", "", "", true)                                // no lease
	f.Add("OPTIONS", "*", "", "", "", "", "", "", true)                                           // of the server as a whole
	f.Add("GET", "//evil.example", "", "", "text/html", "", "", "", false)                        // no such path
	f.Add("GET", "/page/../page.go", "", "", "", "", "", "", false)                               // out of the files
	f.Add("PUT", "/", form, "spec="+strings.Repeat("a,", 32<<10), "", "", "", "", true)           // a long one
	f.Add("PUT", "/", jsn, strings.Repeat(`{"spec":`, 5000), "", "", "", "", true)                // a deep one
	f.Add("PUT", "/", jsn, "{\"\\ud800\": 1, \"spec\": \"\u212a,\u0130\"}", "", "", "", "", true) // folding
	f.Add("GET", "/", "", "", ";;,text/html;q=NaN,*/*;q=-1", `W/"`, `"`, "null", false)           // malformed headers

	f.Fuzz(func(t *testing.T, method, path, contentType, body, accept, ifNoneMatch, ifMatch, origin string, authorised bool) {
		r := registry.New()
		var gate spangate.Gate
		require.NoError(t, r.Register(spangate.Gym, &gate))
		c, err := control.New(r, control.StartupBaseline(baseline("default,late")))
		require.NoError(t, err)
		defer c.Close()
		l, err := c.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox", Quiet: "job", TTL: time.Hour})
		require.NoError(t, err)
		before, word := c.State(), gate.Load()

		path = strings.ReplaceAll(path, "LEASE", l.ID())
		if state, err := json.Marshal(before); err == nil {
			body = strings.Replace(body, "STATE", string(state), 1)
		}
		request := httptest.NewRequest("GET", "http://example.com/", strings.NewReader(body))
		request.Method, request.URL, request.RequestURI = method, &url.URL{Path: path}, path
		for name, value := range map[string]string{"Content-Type": contentType, "Accept": accept, "If-None-Match": ifNoneMatch, "If-Match": ifMatch, "Origin": origin} {
			if value != "" {
				request.Header[name] = []string{value}
			}
		}
		if authorised {
			request.Header.Set("Authorization", "Bearer secret")
		}
		answer := serve(control.Handler(c, control.Authorize(control.BearerToken("secret"))), request)

		after := c.State()
		changed := after.Generation != before.Generation
		status := answer.Code
		require.Less(t, status, 500)
		switch {
		case status == http.StatusNotModified || status == http.StatusTemporaryRedirect || status == http.StatusSeeOther:
			require.Empty(t, answer.Body.String())
		case strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html"), strings.HasPrefix(path, "/page/") && status == 200:
			require.Equal(t, 200, status)
		case status >= 400:
			d := json.NewDecoder(answer.Body)
			d.DisallowUnknownFields()
			var e wire.Error
			require.NoError(t, d.Decode(&e))
			require.NotEmpty(t, e.Code)
			require.NotEmpty(t, e.Message)
		default:
			require.True(t, json.Valid(answer.Body.Bytes()))
		}
		if !authorised || method == "GET" || method == "HEAD" || status >= 300 && status != http.StatusSeeOther {
			require.False(t, changed, "%d", status)
			require.Equal(t, word, gate.Load())
		} else {
			require.True(t, changed, "%d", status)
		}
		require.NotEmpty(t, answer.Header().Get("Content-Security-Policy"))
	})
}

// FuzzRestore pins that what GET gives, sent back with PUT, restores the intent, also if a library has
// been unregistered since and is registered again.
func FuzzRestore(f *testing.F) {
	f.Add("default,layer", "job", "me", "because", true)
	f.Add("all,-sandbox", "all", "", "", false)
	f.Add(" K\u212aK,layer ", "-tx,layer", "ann", "<&>\"\\ \u2027", true)
	f.Add("query,Default", "", "ann", "", false)
	f.Fuzz(func(t *testing.T, spec, quiet, who, why string, allowPending bool) {
		r := registry.New()
		require.NoError(t, r.Register(spangate.Gym, new(spangate.Gate)))
		require.NoError(t, r.Register(mydb, new(spangate.Gate)))
		c, err := control.New(r)
		require.NoError(t, err)
		defer c.Close()
		if c.SetBaseline(control.Baseline{Spec: strings.ToValidUTF8(spec, "?"), Who: who, Why: why, AllowPending: allowPending}) != nil {
			return
		}
		_, _ = c.Lease(control.LeaseRequest{Owner: "me", Quiet: strings.ToValidUTF8(quiet, "?"), TTL: time.Hour, AllowPending: true})
		h := control.Handler(c, control.Authorize(control.Anyone("example.com")))
		want := c.State()
		got := serve(h, httptest.NewRequest("GET", "/", nil))
		require.NoError(t, c.SetBaseline(baseline("step")))
		require.NoError(t, r.Unregister("mydb"))
		put := httptest.NewRequest("PUT", "/", got.Body)
		put.Header.Set("Content-Type", "application/json")
		answer := serve(h, put)
		require.Equal(t, 200, answer.Code, answer.Body.String())
		require.NoError(t, r.Register(mydb, new(spangate.Gate)))
		s := c.State()
		require.Equal(t, want.Baseline, s.Baseline)
		require.Equal(t, want.Enabled, s.Enabled)
		require.Equal(t, want.Pending, s.Pending)
	})
}
