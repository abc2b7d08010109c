// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spangate/spangate/bench/internal/page"
	"github.com/spangate/spangate/bench/internal/result"
)

// budget is how many times the instructions of the build without sites those of the build
// with all of them off may be, outside Go's runtime. The runtime's are shown and not judged:
// its scheduler's differ by more between two runs of one program.
const budget = 1.01

// Verdict holds the budget against what was found. ok is false only if it is broken beyond
// what noise can explain.
func (r *Report) Verdict() (says string, ok bool) {
	if r.OffToOut == nil {
		return "Instructions were not counted.", true
	}
	verdict := result.Judge(r.OffToOut.Program, budget)
	return fmt.Sprintf("Everything off, times compiled out, by instructions outside Go's runtime: %s; at most %v: %s. With the runtime's, which differ from run to run: %s.",
		interval(r.OffToOut.Program), budget, verdict, interval(r.OffToOut.All)), verdict != "NOT MET"
}

func interval(e result.Estimate) string {
	return fmt.Sprintf("%.4f (%.4f to %.4f)", e.Median, e.Low, e.High)
}

// Describe says what the numbers are of.
func (r *Report) Describe() string {
	return fmt.Sprintf("%s %s/%s, GOMAXPROCS %d. Medians of %d rounds of time and %d of instructions; ± is the 95 %% confidence interval, or with fewer than six rounds what all of them lie in.",
		r.Go, r.GOOS, r.GOARCH, r.GOMAXPROCS, r.Rounds, r.Counts)
}

// Print writes the report for a terminal.
func (r *Report) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	show := func(title string, header []string, rows [][]string) {
		fmt.Fprintf(table, "\n%s\n", title)
		for _, row := range append([][]string{header}, rows...) {
			fmt.Fprintf(table, "\t%s\n", strings.Join(row, "\t"))
		}
	}
	fmt.Fprintln(table, r.Describe())
	show("A rollout with nothing on", costHeader, r.cost())
	show("A rollout by what is on", presetsHeader, r.presets())
	says, _ := r.Verdict()
	fmt.Fprintf(table, "\n%s\n", says)
	return table.Flush()
}

// Fill returns the page with this report's tables in its blocks, as in <!-- rollouts:cost -->.
func (r *Report) Fill(text string) (string, error) {
	return page.Fill(text, "rollouts", func(name string) (string, bool) {
		switch name {
		case "machine":
			return r.Describe() + "\n", true
		case "cost":
			return page.Table(costHeader, r.cost()), true
		case "verdict":
			says, _ := r.Verdict()
			return says + "\n", true
		case "presets":
			return page.Table(presetsHeader, r.presets()), true
		}
		return "", false
	})
}

var costHeader = []string{"", "CPU", "±", "times off", "±", "instructions", "±", "outside the runtime", "±", "in spangate"}

// cost has the rows with nothing on, the bare one first.
func (r *Report) cost() (cells [][]string) {
	for _, row := range slices.Backward(r.Rows) {
		if row.Spec != "" {
			continue
		}
		line := []string{row.Name, result.Time(row.CPU.Median), row.CPU.Spread(), result.Times(row.Ratio.Median), row.Ratio.Spread()}
		if n := row.Instructions; n == nil {
			line = append(line, "", "", "", "", "")
		} else {
			line = append(line, whole(n.All), n.All.Spread(), whole(n.Program), n.Program.Spread(), whole(n.Spangate))
		}
		cells = append(cells, line)
	}
	return cells
}

var presetsHeader = []string{"", "spans", "exported", "CPU", "±", "more than off", "times off", "instructions", "times off"}

// presets has the rows of the build as it is.
func (r *Report) presets() (cells [][]string) {
	for i, row := range r.Rows {
		if rows[i].build != Instrumented {
			continue
		}
		line := []string{row.Name, fmt.Sprintf("%.0f", row.Spans), kilobytes(row.Bytes),
			result.Time(row.CPU.Median), row.CPU.Spread(), result.Time(row.More.Median), result.Times(row.Ratio.Median)}
		if n := row.Instructions; n == nil {
			line = append(line, "", "")
		} else {
			line = append(line, whole(n.All), result.Times(n.Ratio.Median))
		}
		cells = append(cells, line)
	}
	return cells
}

func whole(e result.Estimate) string { return fmt.Sprintf("%.0f", e.Median) }

func kilobytes(n float64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f kB", n/1000)
}
