// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"regexp"
	"strings"
)

// block is what stands between the comments <!-- bench:Check --> and <!-- /bench -->: the
// table of that benchmark, "budgets" for the verdicts or "machine" for what was measured on.
var block = regexp.MustCompile(`(?s)(<!-- bench:(\w+) -->\n).*?(<!-- /bench -->)`)

// Fill returns the page with what is between such comments replaced by this report's.
func (r *Report) Fill(page string) (string, error) {
	var unknown []string
	page = block.ReplaceAllStringFunc(page, func(found string) string {
		part := block.FindStringSubmatch(found)
		table, ok := r.markdown(part[2])
		if !ok {
			unknown = append(unknown, part[2])
		}
		return part[1] + table + part[3]
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("the report has no table %s", strings.Join(unknown, ", "))
	}
	return page, nil
}

func (r *Report) markdown(name string) (string, bool) {
	switch name {
	case "machine":
		return Describe(r.Machine) + "\n", true
	case "budgets":
		var rows [][]string
		for _, v := range r.Verdicts {
			rows = append(rows, v.cells())
		}
		return table(verdictHeader, rows), true
	}
	s, ok := r.Section(name)
	if !ok {
		return "", false
	}
	var rows [][]string
	for _, row := range s.Rows {
		rows = append(rows, row.cells())
	}
	return table(s.header(), rows), true
}

// table has every column but the first to the right.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(append([]string{"---"}, strings.Split(strings.Repeat("---:,", len(header)-2)+"---:", ",")...))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
