// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"testing"

	"github.com/spangate/spangate/bench/internal/operation"
)

// allocations is how many one turn of an operation may make beyond those of another, if one
// is named.
var allocations = []struct {
	what, beyond string
	most         float64
}{
	{operation.On, "", 0},
	{operation.Store, "", 0},
	{operation.Parse, "", 0},
	{operation.OffStart, "", 0},
	{operation.OffStartGated, "", 0},
	{operation.OffStartDeeper, "", 1},
	{operation.OffStartSDK, "", 1},
	{operation.OffStartRemote, "", 1},
	{operation.OffDo, "", 0},
	{operation.OffDoGated, "", 0},
	{operation.OnSpan, operation.SDKSpan, 2},
	{operation.OnSpanUnder, operation.SDKSpanUnder, 2},
	{operation.OnSpanDeeper, operation.SDKSpanDeeper, 3},
	{operation.KnownTracer, "", 0},
}

// Allocations holds operations to what they may allocate. Under the race detector, which
// allocates on its own account, it says nothing.
func Allocations() ([]Verdict, error) {
	var verdicts []Verdict
	for _, a := range allocations {
		found, err := allocs(a.what)
		if err != nil {
			return nil, err
		}
		v := Verdict{What: "allocations: " + a.what, Budget: fmt.Sprint(a.most), Found: fmt.Sprint(found), OK: found <= a.most}
		if a.beyond != "" {
			base, err := allocs(a.beyond)
			if err != nil {
				return nil, err
			}
			v.Budget = fmt.Sprintf("at most %v more than %s", a.most, a.beyond)
			v.Found = fmt.Sprintf("%v and %v", found, base)
			v.OK = found-base <= a.most
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

func allocs(name string) (float64, error) {
	o, err := operation.ByName(name)
	if err != nil {
		return 0, err
	}
	run := o.Prepare()
	return testing.AllocsPerRun(100, func() { run(1) }), nil
}
