// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
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

// The exit codes, which scripts can use: they are only ever added to.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitRefused     = 4
	exitStale       = 5
	exitInterrupted = 128 + 2 // as a shell has it for SIGINT
)

// exitCodes is the help that says what they mean.
const exitCodes = `Exit codes:
  0    done; watch and lease --wait: ended by Ctrl-C or by the lease's time
  1    failed: no endpoint at that URL, something that does not speak HTTP at that port, an
       answer that makes no sense or is too large, output that can't be written
  2    bad command line, or a spec or another value that is refused
  3    no process could be reached in time: nothing listens, there is no answer, or a
       certificate that is not trusted
  4    refused: credentials are missing or wrong, the process has no authoriser, or that one
       says no
  5    the state is not the one that was assumed: another generation than --if-match, a lease
       that has ended, as many leases as there can be, a controller that has been closed
  130  interrupted

A pipe that is closed early, as by head, is no failure, unless it is to show a lease.`

// commandError is an error of the command itself, with how it ends the program.
type commandError struct {
	error
	exit int
	code string // as JSON
}

func (e *commandError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return &commandError{fmt.Errorf(format, args...), exitUsage, "usage"}
}

// refused has the exit codes for the codes of refusals that are neither [exitFailed] nor
// [exitRefused].
var refused = map[string]int{
	wire.CodeMalformed: exitUsage, wire.CodeMissingField: exitUsage, wire.CodeBadField: exitUsage,
	wire.CodeUnknownName: exitUsage, wire.CodeTooLarge: exitUsage,
	wire.CodeStale: exitStale, wire.CodeNotFound: exitStale, wire.CodeTooManyLeases: exitStale, wire.CodeClosed: exitStale,
}

// outcome returns how err ends the program, and what it is as JSON.
func outcome(err error) (exit int, e wire.Error) {
	var own *commandError
	var offline *spangate.ParseError
	var online *client.Error
	exit, e = exitFailed, wire.Error{Message: message(err), Code: "failed"}
	switch {
	case errors.As(err, &own):
		return own.exit, wire.Error{Message: e.Message, Code: own.code}
	case errors.As(err, &offline), errors.Is(err, client.ErrArgument):
		exit, e.Code = exitUsage, "usage"
	case errors.Is(err, client.ErrUnreachable):
		exit, e.Code = exitUnreachable, "unreachable"
	case errors.Is(err, client.ErrPermission):
		exit, e.Code = exitRefused, wire.CodeForbidden
	case errors.Is(err, context.Canceled):
		exit, e.Code = exitInterrupted, "interrupted"
	}
	reader := ""
	if offline != nil && len(offline.Unknown) > 0 {
		reader, e.Code, e.Field, e.Valid = offline.Namespace, wire.CodeUnknownName, "spec", offline.Valid
		for _, name := range offline.Unknown {
			e.Unknown = append(e.Unknown, wire.UnknownName(name))
		}
	}
	if errors.As(err, &online) && online.Refusal.Code != "" {
		reader, e = online.URL, online.Refusal
		if exit == exitFailed {
			exit = cmp.Or(refused[e.Code], exitFailed)
		}
	}
	if len(e.Unknown) > 0 {
		e.Message = reader + " has " + lacks(e.Unknown)
	}
	return exit, e
}

// lacks says which names are unknown: a few, and how many more.
func lacks(names []wire.UnknownName) string {
	const most = 3
	var parts []string
	for _, n := range names[:min(len(names), most)] {
		if n.Name == "" {
			parts = append(parts, fmt.Sprintf("no name behind the '-' at byte %d", n.Offset-1))
			continue
		}
		parts = append(parts, fmt.Sprintf("no %q, at byte %d of the spec", spec.Head(n.Name), n.Offset))
	}
	if more := len(names) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

// inWordsOfTheCommand replaces what a library calls by its own name.
var inWordsOfTheCommand = strings.NewReplacer(
	"spangate/control/client: ", "",
	"a token says who you are", "say who you are by a token: "+envToken+" or --token-file",
	"give it longer", "give it longer with --timeout",
	"which the state shows", "which spangate get shows",
	"a State has them", "spangate leases shows them",
	"a State has it", "get shows it",
	"If-Match \"", "--if-match \"",
	context.Canceled.Error(), "interrupted",
)

// message returns the text of err, fit for one line of a terminal.
func message(err error) string {
	return escape(strings.TrimPrefix(strings.TrimSpace(inWordsOfTheCommand.Replace(err.Error())), "spangate: "))
}

// report shows err, with which a command on text, a spec if it takes one, has ended: to people,
// or to programs as a [wire.Error]. It returns the exit code.
func (p *program) report(err error, text string) (exit int) {
	exit, e := outcome(err)
	s := p.err
	if p.asJSON {
		s.json(e)
		return exit
	}
	line := message(err)
	if len(e.Unknown) > 0 {
		line = escape(e.Message)
	}
	s.printf("%s %s\n", red.Render("spangate:"), line)
	switch {
	case len(e.Unknown) > 0:
		var online *client.Error
		drawUnknown(s, e, text, errors.As(err, &online))
	case exit == exitRefused:
		s.printf("If it wants a token, give one that permits this by %s or --token-file.\n", envToken)
	case e.Code == wire.CodeStale && e.Generation != "":
		s.printf("The generation is %s now; spangate get shows what has changed.\n", short(e.Generation))
	}
	return exit
}

// drawUnknown shows a spec with carets under its unknown names, what may have been meant, and the
// names that there are. A process, unlike a catalog, may keep a name until it is registered.
func drawUnknown(s *screen, e wire.Error, text string, byProcess bool) {
	const most, margin = 8, 8 // names, and columns that a note may take
	shown := e.Unknown[:min(len(e.Unknown), most)]
	var rows [][]string
	for _, n := range shown {
		note := "no name is close"
		if n.Suggestion != "" {
			note = "did you mean " + short(n.Suggestion) + "?"
		} else if n.Name == "" {
			note = "the name is missing"
		}
		rows = append(rows, []string{"  " + cmp.Or(escape(spec.Head(n.Name)), "-"), note})
	}
	s.printf("\n")
	line, under := carets(text, shown, cmp.Or(s.width, 100)-margin)
	switch {
	case under != "" && len(rows) == 1:
		s.printf("  %s\n  %s\n", line, red.Render(under+" "+rows[0][1]))
		rows = nil
	case under != "":
		s.printf("  %s\n  %s\n", line, red.Render(under))
	}
	s.table(nil, rows)
	if more := len(e.Unknown) - len(shown); more > 0 {
		s.printf("  and %d more\n", more)
	}
	s.printf("\n")
	s.fields("known", list(e.Valid, "nothing: no library has registered"), "try", corrected(text, e.Unknown),
		"or", onlyIf(byProcess, "--allow-pending, if its library is yet to register"))
}

// carets returns a spec fit for a terminal, and a line with carets right under the names, also
// behind wide characters, combining ones and escapes:
//
//	default,sandboxx
//	        ^^^^^^^^
//
// Of a spec of more than width columns it returns the part that begins with the first name. Names
// that are not in it are left out; without any, both lines are empty.
func carets(text string, names []wire.UnknownName, width int) (line, under string) {
	names = slices.DeleteFunc(slices.Clone(names), func(n wire.UnknownName) bool { return !isIn(text, n) })
	if len(names) == 0 {
		return "", ""
	}
	slices.SortStableFunc(names, func(a, b wire.UnknownName) int { return a.Offset - b.Offset })
	const ellipsis = "…"
	columns := func(text string) int { return lipgloss.Width(escape(text)) }
	start, end := 0, columns(text)+1 // a caret may be right behind the text
	if width = max(width, 1); columns(text) > width {
		start, end = names[0].Offset, width+1
		line = ellipsis
	}
	before := lipgloss.Width(line)
	if line += escape(text[start:]); lipgloss.Width(line) > end {
		line = lipgloss.NewStyle().Inline(true).MaxWidth(end).Render(line) + ellipsis
	}
	for _, n := range names {
		from := max(before+columns(text[start:n.Offset]), len(under))
		to := min(from+max(1, columns(n.Name)), end)
		if from < to {
			under += strings.Repeat(" ", from-len(under)) + strings.Repeat("^", to-from)
		}
	}
	return line, under
}

// isIn reports whether an unknown name is where it is said to be: a process may say anything.
func isIn(text string, n wire.UnknownName) bool {
	return n.Offset >= 0 && n.Offset <= len(text) && strings.HasPrefix(text[n.Offset:], n.Name)
}

// corrected returns a spec with every unknown name replaced, or "" if one has no suggestion.
func corrected(text string, names []wire.UnknownName) string {
	const most = 256 // bytes
	better := text
	for _, n := range slices.Backward(names) {
		if n.Suggestion == "" || len(better) > most || !isIn(text, n) || n.Offset+len(n.Name) > len(better) {
			return ""
		}
		better = better[:n.Offset] + n.Suggestion + better[n.Offset+len(n.Name):]
	}
	return onlyIf(len(better) <= most, escape(better))
}
