// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// Bias.
//
// Measured: one site, as in BenchmarkCheck and with its caveats, while a controller over its
// gate holds 0 to 10,000 leases of a group that is not the site's. Leases are looked at by who
// changes something, never by a site, so any growth is the machine's.
//
// Not measured: what a change and an expiry cost with that many leases. They are benchmarks of
// package control.
//
// What the compiler might have removed: see BenchmarkCheck.
func BenchmarkGrowthLeased(b *testing.B) {
	for _, n := range []int{0, 1, 100, 10000} {
		c, g := leased(b, n) // once, and not for each try of how often to run the loop
		b.Run(fmt.Sprintf("leases: %d", n), func(b *testing.B) {
			offSite(b, func(on bool) {
				spec := "server"
				if on {
					spec = "server,rollout"
				}
				if err := c.SetBaseline(control.Baseline{Spec: spec}); err != nil {
					b.Fatal(err)
				}
			}, func(n int) {
				for range n {
					if g.On(spangate.BitRollout) {
						passed++
					}
				}
			})
		})
	}
}

// leased returns a controller over Gym that holds n leases of sandbox, and Gym's gate.
func leased(b *testing.B, n int) (*control.Controller, *spangate.Gate) {
	b.Helper()
	quiet := slog.New(slog.DiscardHandler)
	r, g := registry.New(registry.Logger(quiet)), new(spangate.Gate)
	if err := r.Register(spangate.Gym, g); err != nil {
		b.Fatal(err)
	}
	c, err := control.New(r, control.Logger(quiet))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	for range n {
		if _, err := c.Lease(control.LeaseRequest{Owner: "bench", Spec: "sandbox", TTL: time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	return c, g
}
