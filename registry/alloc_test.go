// SPDX-License-Identifier: Apache-2.0

//go:build !race

package registry_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/registry"
)

// The race detector makes sync.Pool drop values, so these tests do not run under it.

// TestResolveAllocatesInProportionToTheSpec compares one spec over a registry and over one
// that is four times as large.
func TestResolveAllocatesInProportionToTheSpec(t *testing.T) {
	spec := spec100()
	bytes := func(r *registry.Registry) float64 {
		defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pool
		const runs = 200
		r.Resolve(spec)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			r.Resolve(spec)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / runs
	}
	small, _, _ := large(t, 40)
	big, _, _ := large(t, 160)
	require.Len(t, big.Groups(), 4_000)
	ofSmall, ofBig := bytes(small), bytes(big)
	require.InEpsilon(t, ofSmall, ofBig, 0.1, "%v and %v bytes", ofSmall, ofBig)
	require.Less(t, ofSmall, float64(3*len(spec)+16*100), "the spec, and 100 strings")
}

func TestReadingAllocatesOnlyWhatItReturns(t *testing.T) {
	r, _, _ := large(t, 40)
	r.SetSpec(spec100())
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { r.Enabled() }))
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { r.Groups() }))
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { r.Namespaces() }))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Pending() }))
}
