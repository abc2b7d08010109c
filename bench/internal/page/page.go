// SPDX-License-Identifier: Apache-2.0

// Package page puts tables into the pages of the docs.
package page

import (
	"fmt"
	"regexp"
	"strings"
)

// Fill returns the page with the blocks of this kind filled anew. A block is what stands
// between two comments, as in
//
//	<!-- bench:Check -->
//	<!-- /bench -->
//
// table returns what belongs into the block of a name. A block that it does not know is an
// error.
func Fill(page, kind string, table func(name string) (string, bool)) (string, error) {
	block := regexp.MustCompile(`(?s)(<!-- ` + kind + `:(\w+) -->\n).*?(<!-- /` + kind + ` -->)`)
	var unknown []string
	page = block.ReplaceAllStringFunc(page, func(found string) string {
		part := block.FindStringSubmatch(found)
		text, ok := table(part[2])
		if !ok {
			unknown = append(unknown, part[2])
		}
		return part[1] + text + part[3]
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("there is no table %s", strings.Join(unknown, ", "))
	}
	return page, nil
}

// Table returns a table that has every column but the first to the right.
func Table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(append([]string{"---"}, strings.Split(strings.Repeat("---:,", len(header)-2)+"---:", ",")...))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
