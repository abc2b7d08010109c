// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

// leased returns a controller with n leases on this many distinct specs.
func leased(b *testing.B, n, distinct int) *fixture {
	f := newFixture(b, control.StartupBaseline(baseline("job")), control.MaxLeases(n+1))
	for i := range n {
		f.lease(b, fmt.Sprint("owner", i), spangate.Gym.Format(spangate.Mask(1+i%distinct)), time.Hour)
	}
	f.changes.take()
	return f
}

// BenchmarkChangeAmongLeases grants and releases a lease, so each iteration is two changes. Leases
// usually share a few specs; one spec per lease is the worst case.
func BenchmarkChangeAmongLeases(b *testing.B) {
	for _, c := range []struct{ leases, specs int }{{0, 1}, {100, 10}, {10_000, 10}, {10_000, 10_000}} {
		b.Run(fmt.Sprintf("leases=%d/specs=%d", c.leases, c.specs), func(b *testing.B) {
			f := leased(b, c.leases, c.specs)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, f.lease(b, "me", "sandbox", time.Minute).Release())
				f.changes.take()
			}
		})
	}
}

// BenchmarkExpiry lets thousands of leases end within about a second, among as many that do not,
// and reports the median, the 99th percentile and the worst delay. It measures the timer of the
// machine too.
func BenchmarkExpiry(b *testing.B) {
	const n = 5_000
	for range b.N {
		var mu sync.Mutex
		var ends []time.Time
		var late []time.Duration
		f := newFixture(b, control.MaxLeases(2*n), control.OnChange(func(change control.Change) {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			for len(late) < len(ends) && change.Kind == control.KindExpiry && !now.Before(ends[len(late)]) {
				late = append(late, now.Sub(ends[len(late)]))
			}
		}))
		for i := range n {
			f.lease(b, "keeps", "job", time.Hour)
			// The first ends after all have been granted.
			ttl := 2*time.Second + time.Duration(i)*200*time.Microsecond
			mu.Lock()
			ends = append(ends, time.Now().Add(ttl))
			mu.Unlock()
			f.lease(b, "ends", "sandbox", ttl)
		}
		mu.Lock()
		for len(late) < n {
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
		}
		slices.Sort(late)
		b.ReportMetric(float64(late[n/2].Microseconds())/1000, "ms-median")
		b.ReportMetric(float64(late[n*99/100].Microseconds())/1000, "ms-p99")
		b.ReportMetric(float64(late[n-1].Microseconds())/1000, "ms-worst")
		mu.Unlock()
		b.ReportMetric(0, "ns/op") // the TTLs determine it
	}
}

func BenchmarkState(b *testing.B) {
	for _, n := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprintf("leases=%d", n), func(b *testing.B) {
			f := leased(b, n, 10)
			b.ReportAllocs()
			for b.Loop() {
				f.State()
			}
		})
	}
}

// BenchmarkGet answers requests for a state that does not change, as JSON or as a page. The cost
// should be in proportion to the length of the answer.
func BenchmarkGet(b *testing.B) {
	for _, accept := range []string{"application/json", "text/html"} {
		for _, n := range []int{0, 100, 10_000} {
			b.Run(fmt.Sprintf("%s/leases=%d", accept, n), func(b *testing.B) {
				h := control.Handler(leased(b, n, 10).Controller)
				warm := &discard{header: http.Header{}}
				r := httptest.NewRequest("GET", "/", nil)
				r.Header.Set("Accept", accept)
				h.ServeHTTP(warm, r)
				b.SetBytes(warm.n)
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						h.ServeHTTP(&discard{header: http.Header{}}, r)
					}
				})
			})
		}
	}
}

// BenchmarkGetAfterChange is one GET per generation: the cost of building an answer.
func BenchmarkGetAfterChange(b *testing.B) {
	f := leased(b, 10_000, 10)
	h := control.Handler(f.Controller)
	r := httptest.NewRequest("GET", "/", nil)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, f.SetBaseline(baseline("job")))
		h.ServeHTTP(&discard{header: http.Header{}}, r)
	}
}

// discard is a response that counts its bytes.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { d.n += int64(len(p)); return len(p), nil }

// BenchmarkNotModified is the cost of a client that polls while nothing changes.
func BenchmarkNotModified(b *testing.B) {
	f := leased(b, 100, 10)
	h := control.Handler(f.Controller)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("If-None-Match", `"`+f.State().Generation+`"`)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 304 {
			b.Fatal(w.Code)
		}
	}
}
