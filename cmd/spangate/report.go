// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

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

// report says what went wrong: to people, or to programs as a [wire.Error].
func report(s *screen, err error, asJSON bool) {
	if asJSON {
		s.json(asWire(err))
		return
	}
	s.printf("%s %s\n", red.Render("spangate:"), message(err))
	var spec *specError
	var refused *endpoint.Refusal
	switch {
	case errors.As(err, &spec):
		spec.draw(s)
	case exitCode(err) == exitRefused:
		s.printf("If it wants a token, give one that permits this by %s or --token-file.\n", envToken)
	case errors.As(err, &refused) && refused.Body.Code == wire.CodeStale && refused.Body.Generation != "":
		s.printf("The generation is %s now; spangate get shows what has changed.\n", caret.Short(refused.Body.Generation))
	}
}

// message returns the text of err, in which a cancelled context is called interrupted.
func message(err error) string {
	return strings.TrimSpace(strings.Replace(err.Error(), context.Canceled.Error(), "interrupted", 1))
}

func asWire(err error) wire.Error {
	var output *outputError
	var spec *specError
	var refused *endpoint.Refusal
	switch {
	case errors.As(err, &output):
	case errors.As(err, &spec):
		return wire.Error{Message: err.Error(), Code: wire.CodeUnknownName, Field: spec.field, Unknown: spec.unknown, Valid: spec.valid}
	case errors.As(err, &refused):
		return refused.Body
	}
	return wire.Error{Message: message(err), Code: codeOf(err)}
}

func codeOf(err error) string {
	switch exitCode(err) {
	case exitUsage:
		return codeUsage
	case exitUnreachable:
		return codeUnreachable
	case exitInterrupted:
		return codeInterrupted
	case exitRefused:
		return wire.CodeForbidden
	case exitStale:
		return codeGone
	}
	return codeFailed
}
