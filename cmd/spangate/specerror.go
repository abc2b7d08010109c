// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

// specError is a spec with names that its reader does not know: a catalog, or a process.
type specError struct {
	spec, reader string
	field        string // the field of a request that the spec is in
	unknown      []wire.UnknownName
	valid        []string
	mayWait      bool // names that are unknown may be kept until they are registered
	err          error
}

func (e *specError) Unwrap() error { return e.err }

// Error is what there is to say on one line; draw says the rest.
func (e *specError) Error() string {
	const most = 3
	var lacks []string
	for _, u := range e.unknown[:min(len(e.unknown), most)] {
		if u.Name == "" {
			lacks = append(lacks, fmt.Sprintf("no name behind the '-' at byte %d", u.Offset-1))
			continue
		}
		lacks = append(lacks, fmt.Sprintf("no %q, at byte %d of the spec", shorten(u.Name), u.Offset))
	}
	if more := len(e.unknown) - most; more > 0 {
		lacks = append(lacks, fmt.Sprintf("%d more", more))
	}
	return e.reader + " has " + strings.Join(lacks, "; ")
}

// offline explains a spec that a catalog refuses.
func offline(err error) error {
	var refused *spangate.ParseError
	if !errors.As(err, &refused) || len(refused.Unknown) == 0 {
		return &usageError{errors.New(strings.TrimPrefix(err.Error(), "spangate: "))}
	}
	e := &specError{spec: refused.Spec, field: "spec", reader: refused.Namespace, valid: refused.Valid, err: err}
	for _, u := range refused.Unknown {
		e.unknown = append(e.unknown, wire.UnknownName(u))
	}
	return e
}

// online explains an error that a process may have had with spec; any other stays.
func online(err error, spec string) error {
	var refused *endpoint.Refusal
	if !errors.As(err, &refused) || len(refused.Body.Unknown) == 0 {
		return err
	}
	return &specError{spec: spec, field: refused.Body.Field, reader: refused.URL, unknown: refused.Body.Unknown, valid: refused.Body.Valid, mayWait: true, err: err}
}

// draw shows the spec with carets under what is unknown, what may have been meant, and what
// there is.
func (e *specError) draw(s *screen) {
	const most = 8
	marks := []caret.Mark{}
	for _, u := range e.unknown[:min(len(e.unknown), most)] {
		if u.Offset < 0 || !strings.HasPrefix(e.spec[min(u.Offset, len(e.spec)):], u.Name) {
			continue // a process may say anything
		}
		marks = append(marks, caret.Mark{Offset: u.Offset, Len: len(u.Name), Note: suggestion(u)})
	}
	s.printf("\n")
	for i, line := range strings.Split(caret.Draw(e.spec, marks, cmp.Or(s.width, 100)-margin), "\n") {
		if i%2 == 1 {
			line = red.Render(line)
		}
		s.printf("%s\n", line)
	}
	if more := len(e.unknown) - most; more > 0 {
		s.printf("  and %d more\n", more)
	}
	rows := [][]string{}
	if len(e.unknown) > 1 {
		for _, u := range e.unknown[:min(len(e.unknown), most)] {
			rows = append(rows, []string{"  " + cmp.Or(shorten(caret.Shown(u.Name)), "-"), cmp.Or(suggestion(u), nothing(u))})
		}
		s.table(nil, rows)
	}
	s.printf("\n")
	rows = [][]string{{"known", e.known()}}
	if better, ok := e.corrected(); ok {
		rows = append(rows, []string{"try", better})
	}
	if e.mayWait {
		rows = append(rows, []string{"or", "--allow-pending, if its library is yet to register"})
	}
	s.table(nil, rows)
}

// margin is what [caret.Draw] may add to a line.
const margin = 8

func suggestion(u wire.UnknownName) string {
	if u.Suggestion == "" {
		return ""
	}
	return "did you mean " + caret.Short(u.Suggestion) + "?"
}

func nothing(u wire.UnknownName) string {
	if u.Name == "" {
		return "the name is missing"
	}
	return "no name is close"
}

// known lists the names that there are.
func (e *specError) known() string { return shownList(e.valid, "nothing: no library has registered") }

// corrected returns the spec with every unknown name replaced, if there is something to
// replace each of them by.
func (e *specError) corrected() (string, bool) {
	spec := e.spec
	if len(e.unknown) > maxListed {
		return "", false
	}
	for _, u := range slices.Backward(e.unknown) {
		if u.Suggestion == "" || len(u.Suggestion) > maxShown || u.Offset < 0 || u.Offset > len(spec) || !strings.HasPrefix(spec[u.Offset:], u.Name) {
			return "", false
		}
		spec = spec[:u.Offset] + u.Suggestion + spec[u.Offset+len(u.Name):]
	}
	return caret.Shown(spec), len(spec) <= maxShown
}

// maxShown is how many bytes of an argument a message repeats.
const maxShown = 256

// shorten returns text, or the beginning of a long one.
func shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}
