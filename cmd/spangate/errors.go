// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// The codes that an error has as JSON, besides those of package wire.
const (
	codeUsage       = "usage"
	codeUnreachable = "unreachable"
	codeInterrupted = "interrupted"
	codeGone        = "gone"
	codeGap         = "gap"  // watch may have missed changes
	codeBack        = "back" // watch can reach the process again
	codeFailed      = "failed"
)

// commandError is an error of the command itself, with how it ends the program.
type commandError struct {
	error
	exit int
	code string
}

func (e *commandError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return &commandError{fmt.Errorf(format, args...), exitUsage, codeUsage}
}

// outcome returns how err ends the program, and its code as JSON.
func outcome(err error) (exit int, code string) {
	var own *commandError
	var spec *spangate.ParseError
	var failed *client.Error
	switch {
	case errors.As(err, &own):
		return own.exit, own.code
	case errors.As(err, &spec), errors.Is(err, client.ErrArgument):
		return exitUsage, codeUsage
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable, codeUnreachable
	case errors.Is(err, client.ErrPermission):
		return exitRefused, wire.CodeForbidden
	case errors.Is(err, context.Canceled):
		return exitInterrupted, codeInterrupted
	case errors.As(err, &failed):
		switch code := failed.Refusal.Code; code {
		case wire.CodeMalformed, wire.CodeMissingField, wire.CodeBadField, wire.CodeUnknownName, wire.CodeTooLarge:
			return exitUsage, code
		case wire.CodeStale, wire.CodeNotFound, wire.CodeTooManyLeases, wire.CodeClosed:
			return exitStale, code
		}
	}
	return exitFailed, codeFailed
}

// report shows err, with which a command on a spec, if it takes one, has ended: to people, or to
// programs as a [wire.Error].
func report(s *screen, err error, spec string, asJSON bool) {
	exit, code := outcome(err)
	e := wire.Error{Message: message(err), Code: code}
	var own *commandError
	var failed *client.Error
	if errors.As(err, &failed) && failed.Refusal.Code != "" && !errors.As(err, &own) {
		e = failed.Refusal
	}
	lacking, ok := lacking(err, spec)
	if ok {
		e = wire.Error{Message: lacking.String(), Code: wire.CodeUnknownName, Field: lacking.field, Unknown: lacking.unknown, Valid: lacking.valid}
	}
	if asJSON {
		s.json(e)
		return
	}
	text := message(err)
	if ok {
		text = escape(e.Message)
	}
	s.printf("%s %s\n", red.Render("spangate:"), text)
	switch {
	case ok:
		lacking.draw(s)
	case exit == exitRefused:
		s.printf("If it wants a token, give one that permits this by %s or --token-file.\n", envToken)
	case e.Code == wire.CodeStale && e.Generation != "":
		s.printf("The generation is %s now; spangate get shows what has changed.\n", short(e.Generation))
	}
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

// unknown is a spec with names that its reader does not know: a catalog, or a process.
type unknown struct {
	spec, reader string
	field        string // the field of a request that the spec is in
	unknown      []wire.UnknownName
	valid        []string
	mayWait      bool // names may be kept until they are registered
}

// lacking returns the unknown names because of which text, a spec, is refused with err.
func lacking(err error, text string) (u unknown, ok bool) {
	var offline *spangate.ParseError
	var online *client.Error
	switch {
	case errors.As(err, &offline) && len(offline.Unknown) > 0:
		u = unknown{spec: text, field: "spec", reader: offline.Namespace, valid: offline.Valid}
		for _, name := range offline.Unknown {
			u.unknown = append(u.unknown, wire.UnknownName(name))
		}
		return u, true
	case errors.As(err, &online) && len(online.Refusal.Unknown) > 0:
		r := online.Refusal
		return unknown{text, online.URL, r.Field, r.Unknown, r.Valid, true}, true
	}
	return u, false
}

// String returns one line; draw shows the rest.
func (e *unknown) String() string {
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

// draw shows the spec with carets under what is unknown, what may have been meant, and the names
// that there are.
func (e *unknown) draw(s *screen) {
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
func (e *unknown) holds(u wire.UnknownName) bool {
	return u.Offset >= 0 && u.Offset <= len(e.spec) && strings.HasPrefix(e.spec[u.Offset:], u.Name)
}

// corrected returns the spec with every unknown name replaced, if each has a suggestion.
func (e *unknown) corrected() (better string, ok bool) {
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
