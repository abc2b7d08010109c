// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
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

// usageError is a command line that asks for nothing that can be done.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// outputError is output that could not be written.
type outputError struct{ err error }

func (e *outputError) Error() string { return "output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// goneError is a lease that has ended before its time, and not by this command.
type goneError struct{ id string }

func (e *goneError) Error() string {
	return fmt.Sprintf("lease %s is gone before its time: it has been released elsewhere, or the process is another one now", caret.Short(e.id))
}

// exitCode returns how the program ends after err.
func exitCode(err error) int {
	var (
		output      *outputError
		usage       *usageError
		spec        *specError
		gone        *goneError
		unreachable *endpoint.Unreachable
		unexpected  *endpoint.Unexpected
		refusal     *endpoint.Refusal
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &output):
		return exitFailed // also if a lease that it was to show could not be released
	case errors.As(err, &usage), errors.As(err, &spec):
		return exitUsage
	case errors.As(err, &gone):
		return exitStale
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &refusal) && !needsCredentials(refusal.Status):
		return refusalCode(refusal.Body.Code)
	case refusal != nil, errors.As(err, &unexpected) && needsCredentials(unexpected.Status):
		return exitRefused
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// needsCredentials reports whether status may be another one for other credentials.
func needsCredentials(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}

func refusalCode(code string) int {
	switch code {
	case wire.CodeMalformed, wire.CodeMissingField, wire.CodeBadField, wire.CodeUnknownName, wire.CodeTooLarge:
		return exitUsage
	case wire.CodeStale, wire.CodeNotFound, wire.CodeTooManyLeases, wire.CodeClosed:
		return exitStale
	}
	return exitFailed
}
