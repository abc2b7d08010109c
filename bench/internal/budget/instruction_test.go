// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/spangate/spangate/bench/internal/operation"
)

func TestCountMoreThanFivePercentOffTheBaselineFails(t *testing.T) {
	counts := map[string]float64{
		operation.On: 6, operation.Store: 6, operation.Parse: 700,
		operation.OffStart: 70, operation.OffStartGated: 120, operation.OffDo: 110, operation.OffDoGated: 160,
		operation.NoopStart: 550, operation.NoopStartUnderSDK: 1050, operation.OnSpan: 4000, operation.SDKSpan: 3300,
		operation.OffStartDeeper: 550, operation.OffStartSDK: 650, operation.OnSpanUnder: 4100, operation.SDKSpanUnder: 3300,
		operation.OnValue: 280, operation.SDKValue: 260, operation.KnownTracer: 360, operation.SDKTracer: 580,
	}
	file := filepath.Join(t.TempDir(), "baseline.json")
	if err := NewBaseline(counts).Write(file); err != nil {
		t.Fatal(err)
	}
	baseline, err := ReadBaseline(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		count float64
		fails int
	}{
		{operation.Parse, 700, 0},
		{operation.Parse, 734, 0},
		{operation.Parse, 740, 1},
		{operation.Parse, 660, 1}, // better is a change too: the baseline has to follow
		{operation.Parse, 0, 1},
		{operation.On, 7, 1},
		{operation.OffStart, 100, 2}, // and more than 1/6 of trace/noop
		{operation.OnSpan, 4300, 1},
		{operation.OnSpanUnder, 4200, 1},
		{operation.OnValue, 700, 1},
		{operation.KnownTracer, 590, 1},
	} {
		changed := maps.Clone(counts)
		changed[c.name] = c.count
		fails := 0
		for _, v := range Instructions(changed, baseline) {
			if !v.OK {
				fails++
			}
		}
		if fails != c.fails {
			t.Errorf("%s at %v: %d budgets fail, want %d", c.name, c.count, fails, c.fails)
		}
	}
}
