// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

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

// screen is standard output or standard error: styles and lines that fit on a terminal, plain
// text elsewhere. It keeps the first error and writes nothing after it.
type screen struct {
	w     *colorprofile.Writer
	width int  // in columns; 0 for any
	live  bool // somebody looks at it, and a line can be written again
	err   error
}

var _ io.Writer = (*screen)(nil)

// newScreen returns the screen that f is. It honours NO_COLOR, whatever its value, CLICOLOR_FORCE and TERM=dumb.
func newScreen(f *os.File, environment []string) *screen {
	if os.Getenv("NO_COLOR") != "" {
		environment = append(slices.Clone(environment), "NO_COLOR=1")
	}
	s := &screen{w: colorprofile.NewWriter(f, environment)}
	if term.IsTerminal(f.Fd()) {
		s.live = s.w.Profile > colorprofile.NoTTY
		if width, _, err := term.GetSize(f.Fd()); err == nil {
			s.width = width
		}
	}
	return s
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
func (s *screen) json(v any) {
	e := json.NewEncoder(s)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil && s.err == nil {
		s.err = err
	}
}

// table shows rows under headers, which may be nil. Where it is wider than the terminal, its
// cells are wrapped.
func (s *screen) table(headers []string, rows [][]string) {
	last := max(len(headers)-1, 0)
	for _, row := range rows {
		last = max(last, len(row)-1)
	}
	t := table.New().Headers(headers...).Rows(rows...).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderHeader(false).BorderColumn(false).
		StyleFunc(func(row, column int) lipgloss.Style {
			style := lipgloss.NewStyle()
			if row == table.HeaderRow || headers == nil && column == 0 {
				style = bold
			}
			if column < last {
				style = style.PaddingRight(2)
			}
			return style
		})
	drawn := t.String()
	if s.width > 0 && lipgloss.Width(drawn) > s.width {
		drawn = t.Width(s.width).String()
	}
	s.printf("%s\n", trailingSpace.ReplaceAllStringFunc(drawn, func(end string) string {
		return strings.ReplaceAll(end, " ", "")
	}))
}

// trailingSpace has the beginnings and ends of styles in it.
var trailingSpace = regexp.MustCompile(`(?m)(?: |\x1b\[[0-9;]*m)+$`)

// plural is as in 1 group, 2 groups.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list names some things, or says that there is nothing.
func list(names []string, nothing string) string {
	if len(names) == 0 {
		return nothing
	}
	return strings.Join(names, ", ")
}
