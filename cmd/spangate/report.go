// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"syscall"

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
	if errors.Is(err, syscall.EPIPE) {
		return // who does not read on does not want to know either
	}
	if asJSON {
		s.json(asWire(err))
		return
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	s.printf("%s %s\n", red.Render("spangate:"), err)
	var spec *specError
	var refused *endpoint.Refusal
	switch {
	case errors.As(err, &spec):
		spec.draw(s)
	case errors.As(err, &refused) && refused.Body.Code == wire.CodeForbidden:
		s.printf("A token, if it wants one, is that of %s or --token-file.\n", envToken)
	case errors.As(err, &refused) && refused.Body.Code == wire.CodeStale && refused.Body.Generation != "":
		s.printf("The generation is %s now; spangate get shows what has changed.\n", caret.Shown(refused.Body.Generation))
	}
}

func asWire(err error) wire.Error {
	var spec *specError
	var refused *endpoint.Refusal
	switch {
	case errors.As(err, &spec):
		return wire.Error{Message: err.Error(), Code: wire.CodeUnknownName, Field: "spec", Unknown: spec.unknown, Valid: spec.valid}
	case errors.As(err, &refused):
		return refused.Body
	}
	return wire.Error{Message: strings.TrimSpace(err.Error()), Code: codeOf(err)}
}

func codeOf(err error) string {
	switch exitCode(err) {
	case exitUsage:
		return codeUsage
	case exitUnreachable:
		return codeUnreachable
	case exitInterrupted:
		return codeInterrupted
	case exitStale:
		return codeGone
	}
	return codeFailed
}
