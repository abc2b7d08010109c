// SPDX-License-Identifier: Apache-2.0

//go:build !race

package budget

import "testing"

func TestOffAndParseAllocateNothingAndOnTwoMore(t *testing.T) {
	verdicts, err := Allocations()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if !v.OK {
			t.Errorf("%s: budget %s, found %s", v.What, v.Budget, v.Found)
		}
	}
}
