// SPDX-License-Identifier: Apache-2.0

package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) *Results {
	t.Helper()
	r := new(Results)
	if err := r.Add(t.Name(), text); err != nil {
		t.Fatal(err)
	}
	return r
}

const text = `go: go1.99
goarch: amd64
BenchmarkCheck/spangate:_on-2  1000  0.5 ns/op  0 B/op  0 allocs/op
BenchmarkCheck/klog_V-2        1000  7.0 ns/op  0 B/op  0 allocs/op
BenchmarkCheck/spangate:_on-2  1000  0.7 ns/op  0 B/op  0 allocs/op
BenchmarkCheck/klog_V-2        1000  6.0 ns/op  0 B/op  0 allocs/op
PASS
BenchmarkCheck/klog_V  1  41 instructions/op
BenchmarkCheck/klog_V  1  43 instructions/op
BenchmarkCheck/klog_V  1  99 instructions/op
BenchmarkOther/per__rollout_row  1  5 instructions/op
`

func TestTimeIsTheFastestAndOtherUnitsAreMedians(t *testing.T) {
	r := parse(t, text)
	if !slices.Equal(r.Rows, []string{"Check/spangate: on", "Check/klog V", "Other/per_rollout row"}) {
		t.Errorf("%q", r.Rows)
	}
	if v, ok := r.Value("Check/klog V", Seconds); seconds(v) != "6.000ns" || !ok {
		t.Errorf("%v, %t", v, ok)
	}
	if v, ok := r.Value("Check/klog V", Instructions); v != 43 || !ok {
		t.Errorf("%v, %t", v, ok)
	}
	if _, ok := r.Value("Check/spangate: on", Instructions); ok {
		t.Error("a row has a value that was not measured")
	}
	if err := r.Add("bad", "BenchmarkX 1 many ns/op\n"); err == nil {
		t.Error("a line with a syntax error is accepted")
	}
}

func TestFillReplacesBlocksAndNothingElse(t *testing.T) {
	r := parse(t, text)
	const page = "Before\n<!-- bench:Check relative to spangate: on -->\nold\n<!-- /bench -->\nafter\n"
	const filled = `Before
<!-- bench:Check relative to spangate: on -->
|  | instructions | × | fastest | × | allocations |
| --- | ---: | ---: | ---: | ---: | ---: |
| spangate: on |  |  | 0.5000ns | 1 | 0 |
| klog V | 43 |  | 6.000ns | 12 | 0 |
<!-- /bench -->
after
`
	for _, page := range []string{page, filled} {
		if got, err := r.Fill(page); got != filled || err != nil {
			t.Errorf("%v\n%s", err, got)
		}
	}
	for _, name := range []string{"Check relative to nothing", "Check", "Nothing relative to row", "budgets", "summary"} {
		page := fmt.Sprintf("<!-- bench:%s -->\n<!-- /bench -->\n", name)
		if got, err := r.Fill(page); err == nil {
			t.Errorf("%q is filled with\n%s", name, got)
		}
	}
}

func TestRatiosHaveThreeDigits(t *testing.T) {
	for r, s := range map[float64]string{
		0: "0", 1: "1", 1.0049: "1", 1. / 12: "1/12", 1. / 18.66: "1/18.7", 0.6: "0.6", 999.4: "999", 1020.4: "1020", 0.5: "0.5", -1: "-1",
	} {
		if got := Times(r); got != s {
			t.Errorf("%v is %s, not %s", r, got, s)
		}
	}
}

func TestBudgetOfInstructionsHasAToleranceAndOneOfTimeHasNone(t *testing.T) {
	for _, c := range []struct {
		found float64
		unit  string
		met   bool
	}{
		{1.25, "instructions/op", true},
		{1.256, "instructions/op", true},
		{1.257, "instructions/op", false},
		{1.25, "sec/op", true},
		{1.251, "sec/op", false},
	} {
		r := parse(t, fmt.Sprintf("BenchmarkA/a 1 %f %s\nBenchmarkA/b 1 1 %[2]s\n", c.found, c.unit))
		if _, met, err := r.Judge(Budget{"", "A/a", "A/b", c.unit, 1.25}); met != c.met || err != nil {
			t.Errorf("%+v: met: %t, %v", c, met, err)
		}
	}
	if _, _, err := parse(t, text).Judge(Budgets[0]); err == nil {
		t.Error("a budget of rows that were not measured is judged")
	}
}

func TestCountMoreThanFivePercentFromTheAcceptedIsAChange(t *testing.T) {
	counts := func(parse, on, allocating, peer float64) string {
		return fmt.Sprintf("goarch: amd64\nBenchmarkParse/spangate.Parse 1 %f instructions/op 0 allocs/op\nBenchmarkCheck/spangate:_on 1 %f instructions/op 0 allocs/op\n"+
			"BenchmarkDo/spangate,_on 1 %f instructions/op 5 allocs/op\nBenchmarkCheck/klog 1 %f instructions/op 0 allocs/op\n", parse, on, allocating, peer)
	}
	accepted := parse(t, counts(700, 6, 4000, 40))
	for _, c := range []struct {
		text    string
		changes int
	}{
		{counts(700, 6, 4000, 40), 0},
		{counts(734, 6, 4000, 40), 0},
		{counts(740, 6, 4000, 40), 1},
		{counts(660, 6, 4000, 40), 1}, // better is a change too
		{counts(0, 6, 4000, 40), 1},
		{counts(740, 7, 4000, 40), 2},
		{counts(700, 6, 9000, 90), 0}, // not spangate's own, or not exact
		{counts(700, 6, 4000, 40) + "BenchmarkNew/spangate_row 1 9 instructions/op 0 allocs/op\n", 1},
	} {
		if changes, err := parse(t, c.text).Changed(accepted); len(changes) != c.changes || err != nil {
			t.Errorf("%q, %v in\n%s", changes, err, c.text)
		}
	}
	for _, bad := range []string{strings.ReplaceAll(counts(700, 6, 4000, 40), "amd64", "arm64"), "goarch: amd64\nBenchmarkA/b 1 1 ns/op\n"} {
		if changes, err := parse(t, bad).Changed(accepted); err == nil {
			t.Errorf("%q is compared: %q", bad, changes)
		}
	}
}
