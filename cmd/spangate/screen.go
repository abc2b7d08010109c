// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
)

var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	green = lipgloss.NewStyle().Foreground(lipgloss.Green)
	amber = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	red   = lipgloss.NewStyle().Foreground(lipgloss.Red)
)

// screen is standard output or standard error: styles and lines that fit on a terminal, plain
// text elsewhere. It keeps the first error and writes nothing after it.
type screen struct {
	ctx    context.Context // ends a long table
	w      *colorprofile.Writer
	width  int  // in columns; 0 for any
	live   bool // it is a terminal on which a line can be written again
	closed bool // it was closed when the program began, so that what is written is lost
	err    error
}

var _ io.Writer = (*screen)(nil)

// newScreen returns the screen that f is. It honours NO_COLOR, whatever its value, CLICOLOR_FORCE and TERM=dumb.
func newScreen(f *os.File, environment []string) *screen {
	if os.Getenv("NO_COLOR") != "" {
		environment = append(slices.Clone(environment), "NO_COLOR=1")
	}
	s := &screen{ctx: context.Background(), w: colorprofile.NewWriter(f, environment), closed: wasClosed(f)}
	if term.IsTerminal(f.Fd()) {
		s.live = s.w.Profile > colorprofile.NoTTY
		if width, _, err := term.GetSize(f.Fd()); err == nil {
			s.width = width
		}
	}
	return s
}

// wasClosed reports whether f, which is a standard stream, was closed when the program began:
// Go's runtime then opens the null device in its place, for reading as well, which a shell's
// >/dev/null does not.
func wasClosed(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, null) {
		return false
	}
	_, err = f.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func (s *screen) Write(p []byte) (int, error) {
	if s.err == nil {
		if _, err := s.w.Write(p); err != nil {
			s.err = &outputError{err}
		}
	}
	return len(p), s.err
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// json shows v, with an indent, as JSON.
func (s *screen) json(v any) { s.encode(v, "  ") }

// encode writes v and a newline as JSON. It escapes every character that does not print, of
// which encoding/json escapes only some.
func (s *screen) encode(v any, indent string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		s.err = cmp.Or(s.err, err)
		return
	}
	w := bufio.NewWriter(s) // the screen keeps its error
	for text := b.Bytes(); len(text) > 0 && s.err == nil; {
		r, size := utf8.DecodeRune(text)
		if r == '\n' || strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			_, _ = w.Write(text[:size])
		} else {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(w, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	_ = w.Flush()
}

const (
	gap       = 2   // columns of a terminal between those of a table
	maxColumn = 128 // the widest column; if nothing is wrapped, a longer cell shifts those to its right
)

// table shows rows under headers, which may be nil. It writes each row at once. On a terminal,
// cells are wrapped if the table is wider than it. It stops when the context ends.
func (s *screen) table(headers []string, rows [][]string) {
	if headers != nil {
		rows = slices.Concat([][]string{headers}, rows)
	}
	var widths []int
	for _, row := range rows {
		for column, cell := range row {
			if column == len(widths) {
				widths = append(widths, 0)
			}
			widths[column] = max(widths[column], min(lipgloss.Width(cell), maxColumn))
		}
	}
	for s.width > 0 {
		total, widest := gap*(len(widths)-1), 0
		for column, width := range widths {
			total += width
			if width > widths[widest] {
				widest = column
			}
		}
		if total <= s.width || widths[widest] == 1 {
			break
		}
		widths[widest]--
	}
	for i, row := range rows {
		if i%256 == 255 && s.ctx.Err() != nil {
			s.err = cmp.Or(s.err, s.ctx.Err())
		}
		if s.err != nil {
			return
		}
		s.row(row, widths, func(column int) bool { return headers == nil && column == 0 || headers != nil && i == 0 })
	}
}

// row shows one row of a table.
func (s *screen) row(row []string, widths []int, isBold func(column int) bool) {
	cells, height := make([][]string, len(row)), 0
	for column, cell := range row {
		if s.width > 0 && lipgloss.Width(cell) > widths[column] {
			cell = lipgloss.Wrap(cell, widths[column], "")
		}
		cells[column] = strings.Split(cell, "\n")
		height = max(height, len(cells[column]))
	}
	for i := range height {
		var line strings.Builder
		for column, lines := range cells {
			cell := ""
			if i < len(lines) {
				cell = lines[i]
			}
			pad := strings.Repeat(" ", max(0, widths[column]-lipgloss.Width(cell))+gap)
			if cell != "" && isBold(column) {
				cell = bold.Render(cell)
			}
			line.WriteString(cell + pad)
		}
		s.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// plural is as in 1 group, 2 groups.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxListed is how many names a line lists; with --json all are shown.
const maxListed = 64

// list returns names as a list: at most maxListed, and how many more there are. For no names it
// returns the text nothing.
func list(names []string, nothing string) string {
	if len(names) == 0 {
		return nothing
	}
	text := strings.Join(names[:min(len(names), maxListed)], ", ")
	if more := len(names) - maxListed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
