// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/tree"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// branches is what trees are drawn with.
type branches struct{ middle, last, beside string }

var (
	boxBranches   = branches{middle: "├──", last: "└──", beside: "│  "}
	asciiBranches = branches{middle: "|--", last: "`--", beside: "|  "}
)

var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	alarm = lipgloss.NewStyle().Foreground(lipgloss.Red)

	// colours tells the processes apart.
	colours = map[string]lipgloss.Style{
		"driver":    lipgloss.NewStyle().Foreground(lipgloss.Yellow),
		"agent":     lipgloss.NewStyle().Foreground(lipgloss.Cyan),
		"model":     lipgloss.NewStyle().Foreground(lipgloss.Magenta),
		"resources": lipgloss.NewStyle().Foreground(lipgloss.Green),
	}
)

// draw draws each trace of spans as a tree: who is under whom, in which process, and how
// long it took.
func (b branches) draw(spans []Span) string {
	f := newForest(spans)
	tops := make(map[pcommon.TraceID][]Span)
	var order []pcommon.TraceID
	for _, s := range append(f.roots, f.orphans...) {
		if tops[s.ID.Trace] == nil {
			order = append(order, s.ID.Trace)
		}
		tops[s.ID.Trace] = append(tops[s.ID.Trace], s)
	}

	// The columns beside the trees have a row for each line of theirs.
	var trees, processes, times []string
	row := func(process, took string) {
		processes = append(processes, colours[process].Render(process))
		times = append(times, took)
	}
	var grow func(t *tree.Tree, spans []Span) *tree.Tree
	grow = func(t *tree.Tree, spans []Span) *tree.Tree {
		for _, s := range spans {
			row(s.Process, fmt.Sprintf("%.2f ms", float64(s.Took)/float64(time.Millisecond)))
			l := label(s)
			if !s.root() && !f.present[s.Parent] {
				l += alarm.Render(" (parent missing)")
			}
			t.Child(grow(tree.Root(l), f.children[s.ID]))
		}
		return t
	}
	for _, id := range order {
		row("", "")
		t := tree.Root(faint.Render(fmt.Sprintf("trace %x", id[:4]))).
			Enumerator(b.enumerate).Indenter(b.indent).
			EnumeratorStyle(faint.PaddingRight(1)).IndenterStyle(faint.PaddingRight(1))
		trees = append(trees, grow(t, tops[id]).String())
	}
	drawn := lipgloss.JoinHorizontal(lipgloss.Top,
		strings.Join(trees, "\n"),
		lipgloss.NewStyle().PaddingLeft(2).Render(strings.Join(processes, "\n")),
		lipgloss.NewStyle().PaddingLeft(2).Align(lipgloss.Right).Render(strings.Join(times, "\n")))
	return trailingSpace.ReplaceAllString(drawn, "")
}

var trailingSpace = regexp.MustCompile(`(?m) +$`)

func (b branches) enumerate(siblings tree.Children, i int) string {
	if i == siblings.Length()-1 {
		return b.last
	}
	return b.middle
}

func (b branches) indent(siblings tree.Children, i int) string {
	if i == siblings.Length()-1 {
		return strings.Repeat(" ", lipgloss.Width(b.beside))
	}
	return b.beside
}

// label is the span's group, and its name where that says more.
func label(s Span) string {
	if s.Name == s.Group {
		return bold.Render(s.Group)
	}
	return bold.Render(s.Group) + " " + s.Name
}
