// SPDX-License-Identifier: Apache-2.0

//go:build !race

package otelgate_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// The race detector adds to the allocations.
func TestTracesWithoutAnOverrideAllocateWhatTheBaseAllocates(t *testing.T) {
	with := newPropagator(t, otelgate.Keys(newKey, oldKey), otelgate.Trust(everyone))
	for _, h := range []string{"", "user=ann,tenant=42"} {
		in := propagation.HeaderCarrier{}
		if h != "" {
			in["Baggage"] = []string{h}
		}
		ctx := w3c.Extract(t.Context(), in)
		allocations := func(p propagation.TextMapPropagator) (extract, inject float64) {
			out := http.Header{}
			return testing.AllocsPerRun(100, func() { p.Extract(t.Context(), in) }), testing.AllocsPerRun(100, func() {
				clear(out)
				p.Inject(ctx, propagation.HeaderCarrier(out))
			})
		}
		wantExtract, wantInject := allocations(w3c)
		extract, inject := allocations(with)
		assert.Equal(t, wantExtract, extract, "Extract, %q", h)
		assert.Equal(t, wantInject, inject, "Inject, %q", h)
	}
}

// A flood of tokens, each with an ID of its own and a signature to check, or as large as it gets, costs a
// bounded number of bytes a request and leaves nothing behind.
func TestHostileTokensCostABoundedNumberOfBytes(t *testing.T) {
	p, err := otelgate.NewPropagator(propagation.TraceContext{}, func(spangate.OverrideName) *spangate.Override { return nil }, otelgate.Keys(newKey, oldKey))
	require.NoError(t, err)
	const requests = 1000
	megabyte := "spangate=" + strings.Repeat("x", 1<<20)
	end := time.Now().Add(time.Hour)
	for name, header := range map[string]func(i int) string{
		"forged":        func(i int) string { return "spangate=" + token(fmt.Sprint("x", i), end, "all", otherKey) },
		"not admitted":  func(i int) string { return "spangate=" + token(fmt.Sprint("x", i), end, "all", newKey) },
		"expired":       func(i int) string { return "spangate=" + token(fmt.Sprint("x", i), time.Unix(1, 0), "all", nil) },
		"escaped":       func(int) string { return "spangate=" + strings.Repeat("%2C", 85) },
		"dots":          func(int) string { return "spangate=" + strings.Repeat(".", 256) },
		"many members":  func(int) string { return "spangate" + strings.Repeat(",spangate", 900) },
		"a megabyte":    func(int) string { return megabyte },
		"no delimiters": func(int) string { return "spangate" + strings.Repeat(";", 8000) },
	} {
		carriers := make([]propagation.HeaderCarrier, requests)
		for i := range carriers {
			carriers[i] = propagation.HeaderCarrier{"Baggage": {header(i)}}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, c := range carriers {
			p.Extract(t.Context(), c)
		}
		runtime.ReadMemStats(&after)
		assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/requests, uint64(3<<10), name)
	}
}
