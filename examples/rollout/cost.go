// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"math"
	"testing"

	"github.com/spangate/spangate"
)

// Cost is what a site that is off costs, in nanoseconds a turn of a loop.
type Cost struct {
	BareLoop float64 `json:"bare_loop_ns"`
	OffSite  float64 `json:"off_site_ns"` // the same loop with the site in it
	Ratio    float64 `json:"ratio"`
}

// measured is a gate that the compiler can't know the state of.
var measured spangate.Gate

// measureOffSite times a loop with nothing in it and one with a site that is off. Each is
// measured several times, in turns, and the best counts: whatever else the machine does can
// only make it slower.
func measureOffSite() (*Cost, error) {
	testing.Init()
	if err := flag.Set("test.benchtime", "100ms"); err != nil {
		return nil, err
	}
	c := &Cost{BareLoop: math.Inf(1), OffSite: math.Inf(1)}
	for range 5 {
		c.BareLoop = min(c.BareLoop, perTurn(func(b *testing.B) {
			for range b.N {
			}
		}))
		c.OffSite = min(c.OffSite, perTurn(func(b *testing.B) {
			spans := 0
			for range b.N {
				if measured.On(spangate.BitSandbox) {
					spans++
				}
			}
			if spans > 0 {
				b.Fatal("the site is on")
			}
		}))
	}
	c.Ratio = c.OffSite / c.BareLoop
	return c, nil
}

func perTurn(f func(*testing.B)) float64 {
	r := testing.Benchmark(f)
	return float64(r.T.Nanoseconds()) / float64(r.N)
}
