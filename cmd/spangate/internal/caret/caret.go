// SPDX-License-Identifier: Apache-2.0

// Package caret shows a text with carets under the parts of it that are at fault:
//
//	default,sandboxx
//	        ^^^^^^^^ did you mean "sandbox"?
//
// The carets stand right under wide characters, combining ones and what has to be escaped.
package caret

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// Mark is a part of a text to point at. One that does not lie within the text is left out.
type Mark struct {
	// Offset and Len are in bytes. An empty part has a caret at its place.
	Offset, Len int
	// Note is what there is to say about it, or empty.
	Note string
}

// Draw returns text, cut at its commas into lines that take width columns or little more,
// those without a mark left out; under each are the carets of its marks, with the note of a
// single one behind them. Lines have an indent and no newline at the end of the last.
//
// Every line is a caret line or a text line: there is no third kind, so that two lines
// always belong together.
func Draw(text string, marks []Mark, width int) string {
	marks = slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool {
		return m.Offset < 0 || m.Len < 0 || m.Offset > len(text) || m.Len > len(text)-m.Offset
	})
	slices.SortStableFunc(marks, func(a, b Mark) int { return a.Offset - b.Offset })
	var lines []string
	for _, p := range cut(text, width) {
		n := 0
		for n < len(marks) && (marks[n].Offset < p.end || p.end == len(text)) {
			n++
		}
		if n > 0 {
			lines = append(lines, p.draw(text, marks[:n], width)...)
		}
		marks = marks[n:]
	}
	return strings.Join(lines, "\n")
}

// part is one line's worth of a text.
type part struct{ start, end int }

// cut cuts text after commas, each time as late as width allows.
func cut(text string, width int) []part {
	parts := []part{{}}
	columns := 0
	for start := 0; start < len(text); {
		field, _, _ := strings.Cut(text[start:], ",")
		end := min(start+len(field)+len(","), len(text))
		w := columnsOf(text[start:end])
		last := &parts[len(parts)-1]
		if columns > 0 && columns+w > width {
			parts = append(parts, part{start: start})
			last, columns = &parts[len(parts)-1], 0
		}
		last.end = end
		columns += w
		start = end
	}
	return parts
}

const (
	indent   = "  "
	ellipsis = "…"
)

// draw returns the line of p and the line of the carets for its marks.
func (p part) draw(text string, marks []Mark, width int) []string {
	before, after := "", ""
	if p.start > 0 {
		before = ellipsis
	}
	shown, whole := clip(text[p.start:p.end], width)
	if whole && p.end < len(text) {
		after = ellipsis
	}
	limit := lipgloss.Width(before + shown) // carets stay left of it
	if whole {
		limit++ // and right behind the line, where a name is missing
	}
	carets := ""
	for _, m := range marks {
		from := lipgloss.Width(before) + columnsOf(text[p.start:m.Offset])
		from = max(min(from, limit-1), len(carets))
		to := min(from+max(1, columnsOf(text[m.Offset:][:m.Len])), max(limit, from+1))
		carets += strings.Repeat(" ", from-len(carets)) + strings.Repeat("^", to-from)
	}
	if len(marks) == 1 && marks[0].Note != "" {
		carets += " " + marks[0].Note
	}
	return []string{indent + before + shown + after, indent + carets}
}

// clip returns line as it is shown, and whether that is the whole of it: of a name that has
// no end, the beginning will do.
func clip(line string, width int) (shown string, whole bool) {
	if shown = Shown(line); lipgloss.Width(shown) <= width+len(",") {
		return shown, true
	}
	var b strings.Builder
	for columns := lipgloss.Width(ellipsis); ; {
		piece, as := next(line)
		if columns += lipgloss.Width(as); columns > width {
			return b.String() + ellipsis, false
		}
		b.WriteString(as)
		line = line[len(piece):]
	}
}

// columnsOf returns how many columns of a terminal text takes as it is shown.
func columnsOf(text string) int { return lipgloss.Width(Shown(text)) }
