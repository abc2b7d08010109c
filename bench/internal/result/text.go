// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spangate/spangate/bench/internal/rounds"
)

// Print writes the whole report for a terminal.
func (r *Report) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\n", Describe(r.Machine))
	for _, s := range r.Sections {
		fmt.Fprintf(table, "\n%s\n", s.Title)
		fmt.Fprintf(table, "\t%s\n", strings.Join(s.header(), "\t"))
		for _, row := range s.Rows {
			fmt.Fprintf(table, "\t%s\n", strings.Join(row.cells(), "\t"))
		}
	}
	fmt.Fprint(table, "\nBudgets of time\n")
	fmt.Fprintf(table, "\t%s\n", strings.Join(verdictHeader, "\t"))
	for _, v := range r.Verdicts {
		fmt.Fprintf(table, "\t%s\n", strings.Join(v.cells(), "\t"))
	}
	return table.Flush()
}

// Describe says what the numbers are of.
func Describe(m rounds.Machine) string {
	python := m.Python
	if python == "" {
		python = "no python3, so without that comparison"
	}
	return fmt.Sprintf("%s %s/%s, %s, GOMAXPROCS %d; %s. Medians of %d rounds of %s a row; ± is the 95 %% confidence interval.",
		m.Go, m.GOOS, m.GOARCH, m.CPU, m.GOMAXPROCS, python, m.Rounds, m.BenchTime)
}

func (s Section) header() []string {
	return []string{"", "time", "±", "fastest", "allocations", "times " + s.Baseline}
}

func (row Row) cells() []string {
	allocs := ""
	if row.Allocs != nil {
		allocs = fmt.Sprint(*row.Allocs)
	}
	return []string{row.Name, Time(row.Nanos.Median), row.Nanos.Spread(), Time(row.Nanos.Least), allocs, Times(row.Ratio.Median)}
}

var verdictHeader = []string{"", "budget", "found", "±", "verdict"}

func (v Verdict) cells() []string {
	return []string{v.What, "at most " + Times(v.Budget), Times(v.Found.Median), v.Found.Spread(), v.Says}
}

// Spread is the larger half of the interval, in percent of the median.
func (e Estimate) Spread() string {
	if e.Median == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*max(e.High/e.Median-1, 1-e.Low/e.Median))
}

// Time shows nanoseconds to three digits.
func Time(ns float64) string {
	switch magnitude := math.Abs(ns); {
	case magnitude >= 1e6:
		return three(ns/1e6) + " ms"
	case magnitude >= 1e3:
		return three(ns/1e3) + " µs"
	}
	return three(ns) + " ns"
}

// Times shows a ratio to three digits, as people say it: 1/12.9, or 1.24.
func Times(r float64) string {
	if 0 < r && r < 0.5 {
		return "1/" + three(1/r)
	}
	return three(r)
}

// three shows v to three digits, without an exponent and without zeros that say nothing.
func three(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	text := fmt.Sprintf("%.*f", decimals, v)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
