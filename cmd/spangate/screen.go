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
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
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

// clearLine moves the cursor to the beginning of its line, and clears the line.
const clearLine = "\r\x1b[K"

// screen is standard output or standard error: styles and lines that fit on a terminal, plain
// text elsewhere. It keeps the first error and writes nothing after it.
type screen struct {
	ctx   context.Context // ends a long table
	w     *colorprofile.Writer
	width int  // in columns; 0 for any
	live  bool // it is a terminal on which a line can be rewritten
	used  bool // something has been written
	err   error
}

// newScreen returns the screen for a file. It honours NO_COLOR with any value that is
// not empty, CLICOLOR_FORCE and TERM=dumb.
func newScreen(f *os.File, environment []string) *screen {
	if os.Getenv("NO_COLOR") != "" {
		environment = append(slices.Clone(environment), "NO_COLOR=1")
	}
	s := &screen{ctx: context.Background(), w: colorprofile.NewWriter(f, environment)}
	if term.IsTerminal(f.Fd()) {
		s.live = s.w.Profile > colorprofile.NoTTY
		s.width, _, _ = term.GetSize(f.Fd()) // 0 if it is not known
	}
	return s
}

// wasClosed reports whether f, which is a standard stream, was closed when the program began:
// Go's runtime then opens the null device in its place, for reading as well, which a shell's
// >/dev/null does not.
func wasClosed(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || term.IsTerminal(f.Fd()) {
		return false
	}
	_, err = f.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func (s *screen) Write(p []byte) (int, error) {
	s.used = true
	if s.err == nil {
		if _, err := s.w.Write(p); err != nil {
			s.err = &commandError{fmt.Errorf("output: %w", err), exitFailed, "failed"}
		}
	}
	return len(p), s.err
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// json writes v and a newline as JSON. It escapes every character that does not print, of
// which encoding/json escapes only some.
func (s *screen) json(v any, indent string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		s.err = cmp.Or(s.err, err)
		return
	}
	w := bufio.NewWriter(s) // the screen keeps its error
	for _, r := range b.String() {
		if r == '\n' || strconv.IsPrint(r) && r != utf8.RuneError {
			_, _ = w.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(w, `\u%04x`, unit)
		}
	}
	_ = w.Flush()
}

// escape returns text fit for one line of a terminal: characters that would move the cursor,
// change its colour or direction, or be invisible are escaped as in Go. All text that is not the
// command's own goes through it.
func escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(text[:size])
		} else {
			b.WriteString(strings.Trim(strconv.Quote(text[:size]), `"`))
		}
		text = text[size:]
	}
	return b.String()
}

// short is [escape] for a text of any length: it returns the beginning of a long one.
func short(text string) string { return beginning(text, 1<<10) }

// label is [escape] for an id, an owner or a name. It returns the beginning of one that is longer
// than a process allows, since every row of a table is as wide as its widest.
func label(text string) string { return beginning(text, 128) }

func beginning(text string, n int) string {
	if len(text) <= n {
		return escape(text)
	}
	return escape(strings.ToValidUTF8(text[:n], "")) + "…"
}

// table writes rows, if there are any, under headers, which may be nil, and after an empty line
// if it is not the first text. It leaves out a column under a header that is empty in all rows, also of
// the arguments. On a terminal, cells are wrapped if the table is wider than it. It
// stops when the context ends.
func (s *screen) table(headers []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if s.used {
		s.printf("\n")
	}
	for i := len(headers) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(rows, func(row []string) bool { return i < len(row) && row[i] != "" }) {
			headers = slices.Delete(headers, i, i+1)
			for r, row := range rows {
				rows[r] = slices.Delete(row, min(i, len(row)), min(i+1, len(row)))
			}
		}
	}
	t := table.New().BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false)
	if headers != nil { // a row, since the library cuts headers short
		t.Row(headers...)
	}
	t.Rows(rows...).StyleFunc(func(row, column int) lipgloss.Style {
		style := lipgloss.NewStyle()
		if headers != nil && row == 0 || headers == nil && column == 0 {
			style = bold
		}
		if column > 0 {
			style = style.PaddingLeft(2)
		}
		return style
	})
	text := t.String()
	if s.width > 0 && lipgloss.Width(text) > s.width {
		text = t.Width(s.width).String()
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if n++; n%256 == 0 && s.ctx.Err() != nil {
			s.err = cmp.Or(s.err, s.ctx.Err())
		}
		if s.err != nil {
			return
		}
		s.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// fields writes pairs of a name and a value, without those whose value is empty.
func (s *screen) fields(namesAndValues ...string) {
	var rows [][]string
	for row := range slices.Chunk(namesAndValues, 2) {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	s.table(nil, rows)
}

// onlyIf returns text if a condition is true, or "".
func onlyIf(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// warning returns names as a highlighted list, followed by more, or "" for no names.
func warning(names []string, more string) string {
	return onlyIf(len(names) > 0, amber.Render(list(names, ""))+more)
}

// maxListed is how many names a line lists; with --json all are shown.
const maxListed = 64

// list returns names as a list: at most maxListed, escaped, and how many more there are. For no
// names it returns the text none.
func list(names []string, none string) string {
	return cmp.Or(strings.Join(first(maxListed, names, short), ", "), none)
}

// first returns what show returns for each of the first n names, and how many more there are.
func first(n int, names []string, show func(string) string) []string {
	shown := mapped(names[:min(len(names), n)], show)
	if more := len(names) - n; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return shown
}

// inSeconds returns d in whole seconds as it counts down: 0s only once nothing is left.
func inSeconds(d time.Duration) string {
	return (d + time.Second - 1).Truncate(time.Second).String()
}
