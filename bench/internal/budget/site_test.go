// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strings"
	"testing"

	_ "github.com/spangate/spangate/bench/internal/site" // or go test would not notice that it changed
)

// It also pins inlining: a call is not a load, a test and a branch.
func TestSiteIsLoadAndTestByHandAndNothingUnderTheTag(t *testing.T) {
	verdicts, err := Sites()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if !v.OK {
			t.Errorf("%s: budget %s, found %s; %s", v.What, v.Budget, v.Found, v.Remedy)
		}
	}
}

// A comparison that finds no difference where there is one would let any site pass.
func TestExcessIsWhatTheShorterFunctionLacks(t *testing.T) {
	short := []string{"INCQ", "INCQ", "RET"}
	for _, c := range []struct {
		long []string
		want string
	}{
		{[]string{"INCQ", "INCQ", "RET"}, ""},
		{[]string{"INCQ", "MOVQ", "BTL", "JAE", "INCQ", "RET"}, "MOVQ BTL JAE"},
		{[]string{"INCQ", "NOPL", "MOVQ", "BTL", "JAE", "INCQ", "RET"}, "NOPL MOVQ BTL JAE"},
		{[]string{"INCQ", "MOVQ", "INCQ", "NOPL", "RET"}, "MOVQ"},
		{[]string{"PUSHQ", "INCQ", "CALL", "RET"}, "not as expected: PUSHQ INCQ CALL RET"},
		{nil, "not as expected:"},
	} {
		got := strings.Join(excess(c.long, short), " ")
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.long, got, c.want)
		}
	}
}
