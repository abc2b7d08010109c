// SPDX-License-Identifier: Apache-2.0

// Package results reads measurements in Go's benchmark format, compares rows, judges the budgets and
// fills the tables of the docs.
package results

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// The units that budgets are in.
const (
	Instructions = "instructions/op"
	Seconds      = "sec/op"
	Allocations  = "allocs/op"
)

// Results is what benchmarks printed. The zero value has no rows.
type Results struct {
	Config map[string]string // as in "goarch: amd64"
	Rows   []string          // as in "Check/an empty loop", in the order in which they were read
	values map[string]map[string][]float64
}

// Read reads files in Go's benchmark format.
func Read(files ...string) (*Results, error) {
	r := new(Results)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := r.Add(file, string(text)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// gomaxprocs is what Go appends to the name of a benchmark, unless it is 1.
var gomaxprocs = regexp.MustCompile(`-[0-9]+$`)

// spaces undoes what Go does to spaces in the name of a benchmark. An underscore is written twice.
var spaces = strings.NewReplacer("__", "_", "_", " ")

// Add reads text, which came from the named source.
func (r *Results) Add(source, text string) error {
	if r.values == nil {
		r.Config, r.values = make(map[string]string), make(map[string]map[string][]float64)
	}
	reader := benchfmt.NewReader(strings.NewReader(text), source)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return record
		case *benchfmt.Result:
			for _, c := range record.Config {
				r.Config[c.Key] = string(c.Value)
			}
			row := spaces.Replace(gomaxprocs.ReplaceAllString(string(record.Name), ""))
			if r.values[row] == nil {
				r.Rows = append(r.Rows, row)
				r.values[row] = make(map[string][]float64)
			}
			for _, v := range record.Values {
				r.values[row][v.Unit] = append(r.values[row][v.Unit], v.Value)
			}
		}
	}
	return reader.Err()
}

// summary is the median, with the 95 % confidence interval that makes no assumption about the
// distribution.
func summary(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
}

// Value returns the fastest time of a row, since other programs only ever make one slower, and the
// median in any other unit. ok is false if the row was not measured in this unit.
func (r *Results) Value(row, unit string) (value float64, ok bool) {
	values := r.values[row][unit]
	switch {
	case len(values) == 0:
		return 0, false
	case unit == Seconds:
		return slices.Min(values), true
	}
	return summary(values).Center, true
}

// Ratio compares two rows.
func (r *Results) Ratio(row, to, unit string) (float64, error) {
	over, ok := r.Value(row, unit)
	under, ok2 := r.Value(to, unit)
	if !ok || !ok2 {
		return 0, fmt.Errorf("can't compare %q with %q: not both were measured in %s", row, to, unit)
	}
	return over / under, nil
}

// columns of tables, by unit. A table has those in which a row of it was measured; those that are
// relative are followed by the ratio to the row that the table names.
var columns = []struct {
	unit, heading string
	format        func(values []float64, value float64) string
	relative      bool
}{
	{"spans/op", "spans", whole, false},
	{"exported-B/op", "bytes", whole, false},
	{Instructions, "instructions", whole, true},
	{program, "outside the runtime", whole, true},
	{"spangate-instructions/op", "in spangate", whole, false},
	{"cpu-sec/op", "CPU", func(values []float64, v float64) string {
		return seconds(v) + " ± " + summary(values).PctRangeString()
	}, true},
	{Seconds, "fastest", func(_ []float64, v float64) string { return seconds(v) }, true},
	{Allocations, "allocations", whole, false},
}

func whole(_ []float64, v float64) string { return fmt.Sprintf("%.0f", v) }

func seconds(v float64) string { return benchunit.Scale(v, benchunit.Decimal) + "s" }

// Times writes a ratio as 1/12.9, 1.24 or 1941.
func Times(r float64) string {
	switch {
	case 0 < r && r < 0.5:
		return "1/" + Times(1/r)
	case r >= 999.5:
		return fmt.Sprintf("%.0f", r)
	}
	return fmt.Sprintf("%.3g", r)
}

// table returns the rows of a benchmark, relative to one of them.
func (r *Results) table(benchmark, relative string) (string, error) {
	var rows []string
	for _, row := range r.Rows {
		if strings.HasPrefix(row, benchmark+"/") {
			rows = append(rows, row)
		}
	}
	relative = benchmark + "/" + relative
	if !slices.Contains(rows, relative) {
		return "", fmt.Errorf("there is no row %q", relative)
	}
	lines := make([][]string, len(rows)+1)
	lines[0] = []string{""}
	for i, row := range rows {
		lines[i+1] = []string{strings.TrimPrefix(row, benchmark+"/")}
	}
	for _, c := range columns {
		if !slices.ContainsFunc(rows, func(row string) bool { return len(r.values[row][c.unit]) > 0 }) {
			continue
		}
		lines[0] = append(lines[0], c.heading)
		if c.relative {
			lines[0] = append(lines[0], "×")
		}
		for i, row := range rows {
			cell, times := "", ""
			if v, ok := r.Value(row, c.unit); ok {
				cell = c.format(r.values[row][c.unit], v)
			}
			if ratio, err := r.Ratio(row, relative, c.unit); err == nil {
				times = Times(ratio)
			}
			lines[i+1] = append(lines[i+1], cell)
			if c.relative {
				lines[i+1] = append(lines[i+1], times)
			}
		}
	}
	return markdown(lines), nil
}

// markdown returns a table whose columns but the first are aligned to the right.
func markdown(lines [][]string) string {
	lines = slices.Insert(lines, 1, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(lines[0])-1)...))
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
	}
	return b.String()
}

var block = regexp.MustCompile(`(?s)(<!-- bench:(\w+)(?: relative to (.+?))? -->\n).*?(<!-- /bench -->)`)

// Fill returns the page with its blocks filled anew. A block is the text between
//
//	<!-- bench:Check relative to an empty loop -->
//	<!-- /bench -->
//
// which is the table of that benchmark; or between <!-- bench:budgets -->, <!-- bench:summary --> or
// <!-- bench:machine --> and its end.
func (r *Results) Fill(page string) (string, error) {
	var failed error
	page = block.ReplaceAllStringFunc(page, func(old string) string {
		m := block.FindStringSubmatch(old)
		var text string
		var err error
		switch m[2] {
		case "machine":
			c := r.Config
			text = fmt.Sprintf("%s %s/%s, %s; %s.\n", c["go"], c["goos"], c["goarch"], c["cpu"], c["python"])
		case "budgets":
			text, err = r.budgets()
		case "summary":
			text, err = r.summary()
		default:
			text, err = r.table(m[2], m[3])
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", strings.TrimSpace(m[1]), err)
		}
		return m[1] + text + m[4]
	})
	return page, failed
}
