// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// specError is a spec with names that its reader does not know: a catalog, or a process.
type specError struct {
	spec, reader string
	field        string // the field of a request that the spec is in
	unknown      []wire.UnknownName
	valid        []string
	mayWait      bool // names that are unknown may be kept until they are registered
	err          error
}

func (e *specError) Unwrap() error { return e.err }

// Error returns one line; draw shows the rest.
func (e *specError) Error() string {
	const most = 3
	var lacks []string
	for _, u := range e.unknown[:min(len(e.unknown), most)] {
		if u.Name == "" {
			lacks = append(lacks, fmt.Sprintf("no name behind the '-' at byte %d", u.Offset-1))
			continue
		}
		lacks = append(lacks, fmt.Sprintf("no %q, at byte %d of the spec", spec.Head(u.Name), u.Offset))
	}
	if more := len(e.unknown) - most; more > 0 {
		lacks = append(lacks, fmt.Sprintf("%d more", more))
	}
	return e.reader + " has " + strings.Join(lacks, "; ")
}

// offline explains a spec that a catalog refuses.
func offline(err error) error {
	var refused *spangate.ParseError
	if !errors.As(err, &refused) || len(refused.Unknown) == 0 {
		return usagef("%s", strings.TrimPrefix(err.Error(), "spangate: "))
	}
	e := &specError{spec: refused.Spec, field: "spec", reader: refused.Namespace, valid: refused.Valid, err: err}
	for _, u := range refused.Unknown {
		e.unknown = append(e.unknown, wire.UnknownName(u))
	}
	return e
}

// online explains an error that a process may have had with a spec; any other stays.
func online(err error, spec string) error {
	var failed *client.Error
	if !errors.As(err, &failed) || len(failed.Refusal.Unknown) == 0 {
		return err
	}
	r := failed.Refusal
	return &specError{spec: spec, field: r.Field, reader: failed.URL, unknown: r.Unknown, valid: r.Valid, mayWait: true, err: err}
}

// draw shows the spec with carets under what is unknown, what may have been meant, and the names
// that there are.
func (e *specError) draw(s *screen) {
	const most = 8
	shown := e.unknown[:min(len(e.unknown), most)]
	var marks []mark
	rows := [][]string{}
	for _, u := range shown {
		note := ""
		if u.Suggestion != "" {
			note = "did you mean " + short(u.Suggestion) + "?"
		}
		if e.holds(u) {
			marks = append(marks, mark{u.Offset, len(u.Name), note})
		}
		none := "no name is close"
		if u.Name == "" {
			none = "the name is missing"
		}
		rows = append(rows, []string{"  " + cmp.Or(escape(spec.Head(u.Name)), "-"), cmp.Or(note, none)})
	}
	s.printf("\n")
	const margin = 8 // what carets may add to a line
	for i, line := range carets(e.spec, marks, cmp.Or(s.width, 100)-margin) {
		if i%2 == 1 {
			line = red.Render(line)
		}
		s.printf("%s\n", line)
	}
	if more := len(e.unknown) - len(shown); more > 0 {
		s.printf("  and %d more\n", more)
	}
	if len(rows) > 1 {
		s.table(nil, rows)
	}
	s.printf("\n")
	rows = [][]string{{"known", list(e.valid, "nothing: no library has registered")}}
	if better, ok := e.corrected(); ok {
		rows = append(rows, []string{"try", better})
	}
	if e.mayWait {
		rows = append(rows, []string{"or", "--allow-pending, if its library is yet to register"})
	}
	s.table(nil, rows)
}

// holds reports whether an unknown name is where it is said to be: a process may say anything.
func (e *specError) holds(u wire.UnknownName) bool {
	return u.Offset >= 0 && u.Offset <= len(e.spec) && strings.HasPrefix(e.spec[u.Offset:], u.Name)
}

// corrected returns the spec with every unknown name replaced, if each has a suggestion.
func (e *specError) corrected() (better string, ok bool) {
	const most = 256 // bytes
	better = e.spec
	if len(e.unknown) > maxListed {
		return "", false
	}
	for _, u := range slices.Backward(e.unknown) {
		if u.Suggestion == "" || len(u.Suggestion) > most || !e.holds(u) || u.Offset+len(u.Name) > len(better) {
			return "", false
		}
		better = better[:u.Offset] + u.Suggestion + better[u.Offset+len(u.Name):]
	}
	return escape(better), len(better) <= most
}

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
