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

// The codes that several errors have as JSON, besides those of package wire.
const (
	codeUsage  = "usage"
	codeGone   = "gone"
	codeFailed = "failed"
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
		return exitUnreachable, "unreachable"
	case errors.Is(err, client.ErrPermission):
		return exitRefused, wire.CodeForbidden
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "interrupted"
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
	lacking := unknownIn(err, spec)
	if len(lacking.Unknown) > 0 {
		e = lacking.Error
	}
	switch {
	case asJSON:
		s.json(e)
		return
	case len(lacking.Unknown) > 0:
		s.printf("%s %s\n", red.Render("spangate:"), escape(e.Message))
		lacking.draw(s)
		return
	}
	s.printf("%s %s\n", red.Render("spangate:"), message(err))
	if exit == exitRefused {
		s.printf("If it wants a token, give one that permits this by %s or --token-file.\n", envToken)
	} else if e.Code == wire.CodeStale && e.Generation != "" {
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
	wire.Error
	spec    string
	mayWait bool // names may be kept until they are registered
}

// unknownIn returns the names because of which text, a spec, was refused with err, if any.
func unknownIn(err error, text string) unknown {
	var offline *spangate.ParseError
	var online *client.Error
	u, reader := unknown{spec: text}, ""
	switch {
	case errors.As(err, &offline):
		reader, u.Field, u.Valid = offline.Namespace, "spec", offline.Valid
		for _, name := range offline.Unknown {
			u.Unknown = append(u.Unknown, wire.UnknownName(name))
		}
	case errors.As(err, &online):
		reader, u.Error, u.mayWait = online.URL, online.Refusal, true
	}
	const most = 3
	var lacks []string
	for _, n := range u.Unknown[:min(len(u.Unknown), most)] {
		if n.Name == "" {
			lacks = append(lacks, fmt.Sprintf("no name behind the '-' at byte %d", n.Offset-1))
			continue
		}
		lacks = append(lacks, fmt.Sprintf("no %q, at byte %d of the spec", spec.Head(n.Name), n.Offset))
	}
	if more := len(u.Unknown) - most; more > 0 {
		lacks = append(lacks, fmt.Sprintf("%d more", more))
	}
	u.Code, u.Message = wire.CodeUnknownName, reader+" has "+strings.Join(lacks, "; ")
	return u
}

// draw shows the spec with carets under what is unknown, what may have been meant, and the names
// that there are.
func (u *unknown) draw(s *screen) {
	const most = 8
	shown := u.Unknown[:min(len(u.Unknown), most)]
	var marks []mark
	var rows [][]string
	for _, n := range shown {
		note, none := "", "no name is close"
		if n.Suggestion != "" {
			note = "did you mean " + short(n.Suggestion) + "?"
		}
		if n.Name == "" {
			none = "the name is missing"
		}
		if u.holds(n) {
			marks = append(marks, mark{n.Offset, len(n.Name), note})
		}
		rows = append(rows, []string{"  " + cmp.Or(escape(spec.Head(n.Name)), "-"), cmp.Or(note, none)})
	}
	const margin = 8 // what carets may add to a line
	s.printf("\n")
	for i, line := range carets(u.spec, marks, cmp.Or(s.width, 100)-margin) {
		if i%2 == 1 {
			line = red.Render(line)
		}
		s.printf("%s\n", line)
	}
	if more := len(u.Unknown) - len(shown); more > 0 {
		s.printf("  and %d more\n", more)
	}
	if len(rows) > 1 {
		s.table(nil, rows)
	}
	s.printf("\n")
	s.fields("known", list(u.Valid, "nothing: no library has registered"), "try", u.corrected(),
		"or", onlyIf(u.mayWait, "--allow-pending, if its library is yet to register"))
}

// holds reports whether an unknown name is where it is said to be: a process may say anything.
func (u *unknown) holds(n wire.UnknownName) bool {
	return n.Offset >= 0 && n.Offset <= len(u.spec) && strings.HasPrefix(u.spec[n.Offset:], n.Name)
}

// corrected returns the spec with every unknown name replaced, or "" if one has no suggestion.
func (u *unknown) corrected() string {
	const most = 256 // bytes
	better := u.spec
	for i, n := range slices.Backward(u.Unknown) {
		end := n.Offset + len(n.Name)
		if i >= maxListed || n.Suggestion == "" || !u.holds(n) || end > len(better) || len(better) > most {
			return ""
		}
		better = better[:n.Offset] + n.Suggestion + better[end:]
	}
	return onlyIf(len(better) <= most, escape(better))
}
