// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"testing"
)

func TestVerdictLeavesOpenWhatTheNoiseLeavesOpen(t *testing.T) {
	for _, c := range []struct {
		low, median, high float64
		want              string
	}{
		{0.8, 0.9, 1.0, "met"},
		{0.8, 0.9, 1.1, "met, within the noise"},
		{0.9, 1.1, 1.2, "not met, within the noise"},
		{1.1, 1.2, 1.3, "NOT MET"},
	} {
		if got := Judge(Estimate{Low: c.low, Median: c.median, High: c.high}, 1); got != c.want {
			t.Errorf("%v: %q, want %q", c, got, c.want)
		}
	}
}

// Two rounds are too few for an interval; infinite ends would not fit in JSON.
func TestEstimateOfFewRoundsIsFinite(t *testing.T) {
	e := NewEstimate([]float64{3, 1})
	if e.Median != 2 || e.Low != 1 || e.High != 3 || e.Least != 1 {
		t.Errorf("%+v", e)
	}
	if e := NewEstimate([]float64{5}); math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) || e.Median != 5 {
		t.Errorf("%+v", e)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Time(0.3146), "0.315 ns"},
		{Time(12.346), "12.3 ns"},
		{Time(123.4), "123 ns"},
		{Time(1234), "1.23 µs"},
		{Time(-1234567), "-1.23 ms"},
		{Times(1), "1"},
		{Times(1.0049), "1"},
		{Times(1. / 12), "1/12"},
		{Times(1. / 18.66), "1/18.7"},
		{Times(0.6), "0.6"},
		{Times(1020), "1020"},
		{Times(0), "0"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestPageThatAsksForAnUnknownTableIsAnError(t *testing.T) {
	if page, err := new(Report).Fill("<!-- bench:Nothing -->\n<!-- /bench -->"); err == nil {
		t.Errorf("filled: %q", page)
	}
}
