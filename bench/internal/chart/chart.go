// SPDX-License-Identifier: Apache-2.0

// Package chart draws bars as SVG that reads well on light and on dark pages. Plotting
// libraries write their colours into each shape; these come from a style sheet that follows
// the reader's theme, and the text stays text.
package chart

import (
	"embed"
	"fmt"
	"math"
	"strings"
	"text/template"
	"unicode/utf8"
)

// Chart is groups of bars on one scale.
type Chart struct {
	Title, Note string
	Log         bool // whether a bar's length is the logarithm of its value
	Groups      []Group
}

// Group is bars under a heading.
type Group struct {
	Title string
	Bars  []Bar
}

// Bar is one value.
type Bar struct {
	Name, Label string
	Value       float64
	Ours        bool // stands out
}

//go:embed bars.svg.tmpl
var files embed.FS

var drawing = template.Must(template.ParseFS(files, "bars.svg.tmpl"))

// The sizes of a drawing. A letter's width is that of the widest usual system font, on
// average.
const (
	letter     = 7.2
	row        = 22
	longestBar = 380
	margin     = 16
)

type drawn struct {
	Chart
	Width, Height, Bars int
	Rows                []drawnRow
}

type drawnRow struct {
	Heading     string // of a group; then nothing else is set
	Y           int
	Bar         Bar
	Length, End int
}

// SVG returns the drawing.
func (c Chart) SVG() (string, error) {
	longestName, longestLabel := 0, 0
	least, most := math.Inf(1), 0.
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			if !(b.Value > 0) {
				return "", fmt.Errorf("chart %q: %s is %v, a bar has to have a length", c.Title, b.Name, b.Value)
			}
			longestName = max(longestName, utf8.RuneCountInString(b.Name))
			longestLabel = max(longestLabel, utf8.RuneCountInString(b.Label))
			least, most = min(least, b.Value), max(most, b.Value)
		}
	}
	d := drawn{Chart: c, Bars: margin + int(letter*float64(longestName)) + 10}
	y := 44
	if c.Note != "" {
		y += 18
	}
	for _, g := range c.Groups {
		if g.Title != "" {
			y += row
			d.Rows = append(d.Rows, drawnRow{Heading: g.Title, Y: y})
		}
		for _, b := range g.Bars {
			y += row
			length := b.Value / most
			if c.Log {
				// The shortest bar has a length too.
				length = math.Log(2*b.Value/least) / math.Log(2*most/least)
			}
			px := max(1, int(math.Round(length*longestBar)))
			d.Rows = append(d.Rows, drawnRow{Y: y, Bar: b, Length: px, End: d.Bars + px + 6})
		}
		y += row / 2
	}
	d.Width = d.Bars + longestBar + int(letter*float64(longestLabel)) + margin
	d.Height = y + margin
	var b strings.Builder
	err := drawing.Execute(&b, d)
	return b.String(), err
}
