// SPDX-License-Identifier: Apache-2.0

package result

import "github.com/spangate/spangate/bench/internal/page"

// Fill returns the page with this report's tables in its blocks, as in <!-- bench:Check -->:
// the table of that benchmark, "budgets" for the verdicts or "machine" for what was measured
// on.
func (r *Report) Fill(text string) (string, error) { return page.Fill(text, "bench", r.markdown) }

func (r *Report) markdown(name string) (string, bool) {
	switch name {
	case "machine":
		return Describe(r.Machine) + "\n", true
	case "budgets":
		var rows [][]string
		for _, v := range r.Verdicts {
			rows = append(rows, v.cells())
		}
		return page.Table(verdictHeader, rows), true
	}
	s, ok := r.Section(name)
	if !ok {
		return "", false
	}
	var rows [][]string
	for _, row := range s.Rows {
		rows = append(rows, row.cells())
	}
	return page.Table(s.header(), rows), true
}
