// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
)

// get returns what a handler answers to GET, without a server.
func get(t *testing.T, h http.Handler, accept string) string {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
	return w.Body.String()
}

// TestCachedAnswerIsTheCurrentState pins that an answer that was built at the first request for its
// generation is what State returns now, with any text in the state.
func TestCachedAnswerIsTheCurrentState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hostile = `,"left":"",","now":"0001-01-01T00:00:00Z","writable":false\`
		f := newFixture(t, control.StartupBaseline(control.Baseline{Spec: "left,now,writable", Who: hostile, Why: hostile}))
		f.addDB(t)
		writable := control.Handler(f.Controller, control.Authorize(control.Anyone()))
		readOnly := control.Handler(f.Controller)
		check := func() {
			t.Helper()
			for h, w := range map[http.Handler]bool{writable: true, readOnly: false} {
				want := control.WireState(f.State())
				want.Writable = w
				text, err := json.Marshal(want)
				require.NoError(t, err)
				got := get(t, h, "")
				require.JSONEq(t, string(text), got)
				require.Len(t, got, len(text)+1, "and a line end")
			}
		}
		check()
		for i, ttl := range []time.Duration{time.Minute, time.Second, time.Hour, time.Second + 1, 24 * time.Hour} {
			_, err := f.Lease(control.LeaseRequest{Owner: hostile, Spec: "job,left,now", Quiet: "tx", Why: hostile, TTL: ttl, AllowPending: true})
			require.NoError(t, err)
			if i%2 == 0 {
				check()
			}
		}
		for range 20 {
			check()
			sleep(111_111_111)
		}
		require.Contains(t, get(t, writable, "text/html"), `<span class="left">0:58</span>`)
		sleep(30 * time.Second)
		check()
		require.Contains(t, get(t, writable, "text/html"), `<span class="left">0:28</span>`)
		require.Contains(t, get(t, writable, "text/html"), `<div id="readonly" class="notice" hidden>`)
		require.Contains(t, get(t, readOnly, "text/html"), `<div id="readonly" class="notice">`)
	})
}

func TestConcurrentReadersGetWholeAnswers(t *testing.T) {
	f := newFixture(t)
	h := control.Handler(f.Controller, control.Authorize(control.Anyone("example.com")))
	stop := make(chan struct{})
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				l, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: "job", Quiet: "all", TTL: time.Minute})
				if assert.NoError(t, err) {
					assert.NoError(t, l.Release())
				}
			}
		}
	})
	for range 4 {
		readers.Go(func() {
			for range 100 {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				var s wire.State
				if !assert.NoError(t, json.Unmarshal(w.Body.Bytes(), &s)) {
					return
				}
				assert.Equal(t, `"`+s.Generation+`"`, w.Header().Get("ETag"))
				assert.Equal(t, len(s.Leases) == 1, len(s.Enabled) == 1)
				for _, l := range s.Leases {
					assert.NotEmpty(t, l.Left)
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	writer.Wait()
}

// TestAnswerIsBuiltOncePerGeneration pins that what a GET allocates does not depend on how many
// leases there are. The page shows a hundred of them.
func TestAnswerIsBuiltOncePerGeneration(t *testing.T) {
	few, many := control.Handler(withLeases(t, 200).Controller), control.Handler(withLeases(t, 2000).Controller)
	for _, accept := range []string{"application/json", "text/html"} {
		allocated := func(h http.Handler) uint64 {
			const times = 5
			length := len(get(t, h, accept)) // builds it
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept", accept)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range times {
				h.ServeHTTP(&discard{header: http.Header{}}, r)
			}
			runtime.ReadMemStats(&after)
			each := (after.TotalAlloc - before.TotalAlloc) / times
			t.Logf("%s: %d bytes of answer, %d allocated", accept, length, each)
			return each
		}
		want := allocated(few)
		require.Less(t, allocated(many), want+want/2+64<<10)
	}
}
