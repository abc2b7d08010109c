// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	var spec *specError
	var failed *client.Error
	switch {
	case errors.As(err, &own):
		return own.exit, own.code
	case errors.As(err, &spec):
		return exitUsage, wire.CodeUnknownName
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable, codeUnreachable
	case errors.Is(err, client.ErrPermission):
		return exitRefused, wire.CodeForbidden
	case errors.Is(err, context.Canceled):
		return exitInterrupted, codeInterrupted
	case errors.As(err, &failed):
		switch failed.Refusal.Code {
		case wire.CodeMalformed, wire.CodeMissingField, wire.CodeBadField, wire.CodeUnknownName, wire.CodeTooLarge:
			return exitUsage, failed.Refusal.Code
		case wire.CodeStale, wire.CodeNotFound, wire.CodeTooManyLeases, wire.CodeClosed:
			return exitStale, failed.Refusal.Code
		}
	}
	return exitFailed, codeFailed
}

// report shows err: to people, or to programs as a [wire.Error].
func report(s *screen, err error, asJSON bool) {
	exit, code := outcome(err)
	var own *commandError
	var spec *specError
	var failed *client.Error
	var refusal wire.Error
	if errors.As(err, &failed) && !errors.As(err, &own) {
		refusal = failed.Refusal
	}
	isSpec := errors.As(err, &spec)
	switch {
	case asJSON && isSpec:
		s.json(wire.Error{Message: err.Error(), Code: code, Field: spec.field, Unknown: spec.unknown, Valid: spec.valid})
	case asJSON && refusal.Code != "":
		s.json(refusal)
	case asJSON:
		s.json(wire.Error{Message: message(err), Code: code})
	default:
		s.printf("%s %s\n", red.Render("spangate:"), message(err))
		switch {
		case isSpec:
			spec.draw(s)
		case exit == exitRefused:
			s.printf("If it wants a token, give one that permits this by %s or --token-file.\n", envToken)
		case refusal.Code == wire.CodeStale && refusal.Generation != "":
			s.printf("The generation is %s now; spangate get shows what has changed.\n", short(refusal.Generation))
		}
	}
}

// inWordsOfTheCommand replaces what a library calls by its own name.
var inWordsOfTheCommand = strings.NewReplacer(
	"spangate/control/client: ", "",
	"a token says who you are", "say who you are by a token: "+envToken+" or --token-file",
	"give it longer", "give it longer with --timeout",
	"which the state shows", "which spangate get shows",
	context.Canceled.Error(), "interrupted",
)

// message returns the text of err, fit for one line of a terminal.
func message(err error) string {
	return escape(strings.TrimSpace(inWordsOfTheCommand.Replace(err.Error())))
}
