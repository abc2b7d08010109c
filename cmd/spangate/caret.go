// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// mark is a part of a text to point at.
type mark struct {
	offset, len int    // in bytes; an empty part has a caret at its place
	note        string // or empty
}

// carets shows a text with carets under its marks:
//
//	default,sandboxx
//	        ^^^^^^^^ did you mean sandbox?
//
// It cuts the text at its commas into lines of width columns or little more, leaves out lines
// without a mark, and puts the line of carets behind each other one, with the note of a single
// mark. The carets are right under wide characters, combining ones and escapes. A mark that is
// not within the text is left out.
func carets(text string, marks []mark, width int) (lines []string) {
	marks = slices.DeleteFunc(slices.Clone(marks), func(m mark) bool {
		return m.offset < 0 || m.len < 0 || m.offset > len(text) || m.len > len(text)-m.offset
	})
	slices.SortStableFunc(marks, func(a, b mark) int { return a.offset - b.offset })
	for start, end := 0, 0; len(marks) > 0; start = end {
		end = lineEnd(text, start, width)
		n := 0
		for n < len(marks) && (marks[n].offset < end || end == len(text)) {
			n++
		}
		if n > 0 {
			line, under := underline(text, start, end, marks[:n], width)
			lines = append(lines, line, under)
		}
		marks = marks[n:]
	}
	return lines
}

// lineEnd returns where the line of text that begins at start ends: behind the last comma that
// width allows, or behind the first.
func lineEnd(text string, start, width int) int {
	end := start
	for columns := 0; end < len(text); {
		field, _, _ := strings.Cut(text[end:], ",")
		next := min(end+len(field)+len(","), len(text))
		if columns += columnsOf(text[end:next]); end > start && columns > width {
			break
		}
		end = next
	}
	return end
}

// underline returns the line text[start:end] and the line of the carets for its marks.
func underline(text string, start, end int, marks []mark, width int) (line, under string) {
	const indent, ellipsis = "  ", "…"
	if start > 0 {
		line = ellipsis
	}
	before := lipgloss.Width(line)
	shown := escape(text[start:end])
	whole := lipgloss.Width(shown) <= width+len(",")
	if !whole {
		shown = lipgloss.NewStyle().Inline(true).MaxWidth(max(1, width-1)).Render(shown) + ellipsis
	}
	line += shown
	limit := lipgloss.Width(line) // carets stay left of it
	if whole {
		limit++ // and right behind the line, where a name is missing
		if end < len(text) {
			line += ellipsis
		}
	}
	for _, m := range marks {
		from := before + columnsOf(text[start:m.offset])
		from = max(min(from, limit-1), len(under))
		to := min(from+max(1, columnsOf(text[m.offset:][:m.len])), max(limit, from+1))
		under += strings.Repeat(" ", from-len(under)) + strings.Repeat("^", to-from)
	}
	if len(marks) == 1 && marks[0].note != "" {
		under += " " + marks[0].note
	}
	return indent + line, indent + under
}

// columnsOf returns how many columns of a terminal text takes once it is escaped.
func columnsOf(text string) int { return lipgloss.Width(escape(text)) }
