// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"strings"

	"github.com/spangate/spangate/bench/internal/chart"
)

// charts are the drawings of a report, by file name.
var charts = []struct {
	file, title, note string
	log               bool
	benchmarks        []string
}{
	{"check.svg", "What a site that is off costs", "time per check, logarithmic; a cycle or two below 1 ns", true,
		[]string{"Check"}},
	{"start.svg", "What starting a span that nobody wants costs", "time per Start, logarithmic", true,
		[]string{"StartNoParent", "StartUnderSpan"}},
	{"growth.svg", "What a site that is off costs as the program grows", "time per check", false,
		[]string{"GrowthArmed", "GrowthRegistered", "GrowthLeased", "GrowthGoroutines", "GrowthToggling", "GrowthNeighbour"}},
}

// Charts returns the drawings, as SVG, by file name.
func (r *Report) Charts() (map[string]string, error) {
	drawings := make(map[string]string)
	for _, c := range charts {
		drawing := chart.Chart{Title: c.title, Note: c.note, Log: c.log}
		for _, benchmark := range c.benchmarks {
			s, ok := r.Section(benchmark)
			if !ok {
				return nil, fmt.Errorf("%s: the report has no section %s", c.file, benchmark)
			}
			g := chart.Group{Title: s.Title}
			if len(c.benchmarks) == 1 {
				g.Title = "" // the drawing's says it
			}
			for _, row := range s.Rows {
				g.Bars = append(g.Bars, chart.Bar{
					Name: row.Name, Label: Time(row.Nanos.Median), Value: row.Nanos.Median, Ours: ours(benchmark, row.Name),
				})
			}
			drawing.Groups = append(drawing.Groups, g)
		}
		svg, err := drawing.SVG()
		if err != nil {
			return nil, err
		}
		drawings[c.file] = svg
	}
	return drawings, nil
}

// ours reports whether a row is spangate's, as all are that show how it grows, but the one
// that shows what it would be without padding.
func ours(benchmark, row string) bool {
	return strings.HasPrefix(row, "spangate") || strings.HasPrefix(benchmark, "Growth") && !strings.HasSuffix(row, "as without padding")
}
