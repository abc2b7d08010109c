// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"

	"github.com/spangate/spangate/bench/internal/operation"
)

// inBaseline has the operations whose count is compared with the baseline. Those that are
// OpenTelemetry's, or mostly so, are not: they change with a dependency.
var inBaseline = []string{
	operation.On, operation.Store, operation.Parse,
	operation.OffStart, operation.OffStartGated, operation.OffDo, operation.OffDoGated,
}

// tolerance is how far a count may be from the baseline's.
const tolerance = 0.05

// spread is how far two counts of one operation may differ, as a fraction. They differ if the
// operation allocates, since Go's allocator does not always do the same work.
const spread = 0.005

// ratios are budgets of one operation in terms of another. The budgets of sites that are off are
// ratios of times, which benchmarks measure; the ratios of instructions here are looser, and
// catch what would break them.
var ratios = []struct {
	what, of string
	most     float64
}{
	{operation.OffStart, operation.NoopStart, 1. / 6},
	{operation.OffStartGated, operation.NoopStartUnderSDK, 1. / 4},
	{operation.OffStartDeeper, operation.NoopStartUnderSDK, 0.7},
	{operation.OffStartSDK, operation.NoopStartUnderSDK, 0.8},
	{operation.OnSpan, operation.SDKSpan, 1.25},
	{operation.OnSpanUnder, operation.SDKSpanUnder, 1.25},
	{operation.OnValue, operation.SDKValue, 2.5},
	{operation.KnownTracer, operation.SDKTracer, 1},
}

// Baseline is what operations took when somebody last said that it is as it should be.
type Baseline struct {
	Go           string             `json:"go"`
	GOARCH       string             `json:"goarch"`
	Instructions map[string]float64 `json:"instructions"`
}

// ReadBaseline reads a baseline, and refuses one that says nothing about this processor.
func ReadBaseline(file string) (Baseline, error) {
	var b Baseline
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("%w; write it with -update", err)
	}
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("%s: %w", file, err)
	}
	if b.GOARCH != runtime.GOARCH {
		return b, fmt.Errorf("%s counts %s instructions, this is %s; leave counts out with -count=false", file, b.GOARCH, runtime.GOARCH)
	}
	return b, nil
}

// NewBaseline returns the baseline that counts would be.
func NewBaseline(counts map[string]float64) Baseline {
	b := Baseline{Go: runtime.Version(), GOARCH: runtime.GOARCH, Instructions: make(map[string]float64)}
	for _, name := range inBaseline {
		b.Instructions[name] = math.Round(counts[name])
	}
	return b
}

// Write writes b to file.
func (b Baseline) Write(file string) error {
	text, err := json.MarshalIndent(b, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Instructions holds counts, which has one for each operation, to the baseline and to each
// other.
func Instructions(counts map[string]float64, b Baseline) []Verdict {
	var verdicts []Verdict
	for _, name := range inBaseline {
		was, found := b.Instructions[name], counts[name]
		verdicts = append(verdicts, Verdict{
			What:   "instructions: " + name,
			Budget: fmt.Sprintf("%.0f ± %.0f %%", was, 100*tolerance),
			Found:  fmt.Sprintf("%.0f", found),
			// Half an instruction is what rounding the baseline may have cost.
			OK: math.Abs(found-was) <= tolerance*was+0.5,
			Remedy: fmt.Sprintf("the baseline is of %s, this is %s; if the change is meant, run go run ./bench/cmd/budgets -update and commit the baseline with the reason",
				b.Go, runtime.Version()),
		})
	}
	for _, r := range ratios {
		found := counts[r.what] / counts[r.of]
		verdicts = append(verdicts, Verdict{
			What:   fmt.Sprintf("instructions: %s / %s", r.what, r.of),
			Budget: "at most " + Ratio(r.most),
			Found:  fmt.Sprintf("%s (%.0f / %.0f)", Ratio(found), counts[r.what], counts[r.of]),
			OK:     found <= r.most*(1+spread),
		})
	}
	return verdicts
}

// Ratio shows r as people say it: 1/12.9, or 1.24.
func Ratio(r float64) string {
	if r < 0.5 {
		return fmt.Sprintf("1/%.3g", 1/r)
	}
	return fmt.Sprintf("%.3g", r)
}
