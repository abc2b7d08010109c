// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
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

// exitCodes is the help about them.
const exitCodes = `Exit codes:
  0    done; watch and --wait: ended by Ctrl-C or by the lease's time
  1    failed: what answers is not an endpoint, or output can't be written
  2    bad command line, or a spec or another value that is refused
  3    no process could be reached in time, or its certificate is not trusted
  4    refused: credentials are missing or wrong, or the process does not permit it
  5    the state is not the one that was assumed: another generation than --if-match, a lease
       that has ended, as many leases as there can be, a controller that has been closed
  130  interrupted
For several processes it is the code of those that failed, or 1 if their codes differ.

A pipe that is closed early, as by head, is no failure, except for lease, quiet, detail and
revoke.`

// commandError is an error of the command itself, with its exit code.
type commandError struct {
	error
	exit int
	code string // as JSON
}

func (e *commandError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return &commandError{fmt.Errorf(format, args...), exitUsage, "usage"}
}

// outcome returns the exit code for err, and err as JSON.
func outcome(err error) (exit int, e wire.Error) {
	var own *commandError
	var offline *spangate.ParseError
	var online *client.Error
	exit, e = exitFailed, wire.Error{Message: message(err), Code: "failed"}
	switch {
	case errors.As(err, &own):
		exit, e.Code = own.exit, own.code
	case errors.As(err, &online) && online.Refusal.Code != "":
		e = online.Refusal
		switch online.Status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			exit = exitUsage
		case http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusPreconditionFailed:
			exit = exitStale
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
			exit = exitRefused
		}
	case errors.As(err, &offline):
		exit, e.Code = exitUsage, "usage"
		for _, name := range offline.Unknown {
			e.Code, e.Field, e.Valid = wire.CodeUnknownName, "spec", offline.Valid
			e.Unknown = append(e.Unknown, wire.UnknownName(name))
		}
	case errors.Is(err, client.ErrArgument):
		exit, e.Code = exitUsage, "usage"
	case errors.Is(err, client.ErrUnreachable):
		exit, e.Code = exitUnreachable, "unreachable"
	case errors.Is(err, client.ErrPermission):
		exit, e.Code = exitRefused, wire.CodeForbidden
	case errors.Is(err, context.Canceled):
		exit, e.Code = exitInterrupted, "interrupted"
	}
	return exit, e
}

// commandTerms replaces the terms of package client by those of the command.
var commandTerms = strings.NewReplacer(
	"spangate/control/client: ", "",
	"refuses: spangate: ", "refuses: ",
	"refuses: quiet: spangate: ", "refuses: quiet: ",
	"bad URL: ", "--url or "+envURL+": bad URL: ",
	"the token has", "--token-file or "+envToken+": the token has",
	"a token says who you are", "say who you are by a token: "+envToken+" or --token-file",
	"give it longer", "give it longer with --timeout",
	"which the state shows", "which spangate get shows",
	"a State has them", "spangate leases shows them",
	"a State has it", "get shows it",
	"If-Match \"", "--if-match \"",
	context.Canceled.Error(), "interrupted",
	"\n", "; ", // between the errors of errors.Join
)

// message returns the text of err, or the beginning of a long one, fit for one line of a terminal.
func message(err error) string {
	return beginning(strings.TrimPrefix(strings.TrimSpace(commandTerms.Replace(err.Error())), "spangate: "), 8<<10)
}

// report writes err, as text or as the JSON of a [wire.Error], and returns the exit code. arg is the
// argument of the command, which a text shows with carets under its unknown names.
func (p *program) report(err error, arg string) (exit int) {
	exit, e := outcome(err)
	if p.asJSON {
		p.stderr.json(e, "  ")
		return exit
	}
	p.stderr.printf("%s %s\n", red.Render("spangate:"), message(err))
	switch {
	case len(e.Unknown) > 0:
		var parsed *spangate.ParseError
		drawUnknown(p.stderr, e.Unknown, arg, !errors.As(err, &parsed) || parsed.Namespace == "")
	case exit == exitRefused:
		p.stderr.printf("If it wants a token, give one that permits this by %s or --token-file.\n", envToken)
	case e.Code == wire.CodeStale && e.Generation != "":
		p.stderr.printf("The generation is %s now; spangate get shows what has changed.\n", short(e.Generation))
	}
	return exit
}

// drawUnknown shows a spec with carets under its unknown names, and what to do about them. A
// process, unlike a catalog, may keep a name until it is registered, and has groups of its own.
func drawUnknown(s *screen, names []wire.UnknownName, text string, byProcess bool) {
	const margin = 8 // columns for the indentation and ellipses
	line, under, corrected := carets(text, names, cmp.Or(s.width, 100)-margin)
	if under != "" {
		if len(names) == 1 && names[0].Suggestion != "" {
			under += " did you mean " + short(names[0].Suggestion) + "?"
		}
		s.printf("\n  %s\n  %s\n", line, red.Render(under))
	}
	or := "spangate explain --url URL, which knows the groups of a running process"
	if byProcess {
		or = "--allow-pending, if its library is yet to register"
	}
	s.fields("try", onlyIf(len(corrected) <= 256, escape(corrected)), "or", or)
}

// carets returns a spec fit for a terminal, a line with carets under its unknown names, and the spec with
// each of these names replaced by its suggestion:
//
//	default,sandboxx
//	        ^^^^^^^^
//
// The carets are right under the names after wide and combining characters and escapes too. If the spec
// has more than width columns, line begins with the first name. A name that is not in the spec, as an
// answer may have by mistake, is left out; if none is left, all texts are empty. corrected is empty if a
// name has no suggestion.
func carets(text string, names []wire.UnknownName, width int) (line, under, corrected string) {
	names, at, replaced := slices.Clone(names[:min(len(names), maxListed)]), 0, len(names) <= maxListed
	slices.SortStableFunc(names, func(a, b wire.UnknownName) int { return a.Offset - b.Offset })
	width = max(width, 1)
	for _, n := range names {
		if n.Offset < at || n.Offset > len(text) || !strings.HasPrefix(text[n.Offset:], n.Name) {
			replaced = false
			continue
		}
		before := text[at:n.Offset]
		if under == "" && lipgloss.Width(escape(text)) > width {
			line, under, width = "…", " ", width+1
		} else {
			line += escape(before)
		}
		under += strings.Repeat(" ", max(0, lipgloss.Width(line)-len(under)))
		line += escape(n.Name)
		under += strings.Repeat("^", max(1, lipgloss.Width(line)-len(under)))
		corrected += before + n.Suggestion
		replaced, at = replaced && n.Suggestion != "", n.Offset+len(n.Name)
	}
	if under == "" {
		return "", "", ""
	}
	if line += escape(text[at:]); lipgloss.Width(line) > width {
		line, under = ansi.Truncate(line, width+1, "…"), strings.TrimRight(under[:min(len(under), width)], " ")
		if under == "" { // the first name is behind the "…", if the text before it ends within a character
			under = strings.Repeat(" ", width) + "^"
		}
	}
	if corrected += text[at:]; !replaced {
		corrected = ""
	}
	return line, under, corrected
}
