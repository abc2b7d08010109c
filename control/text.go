// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// ErrSpec is a spec with an entry that can't be a name, whatever is registered: quotes that an
// environment file kept, a list in brackets, a variable that was not expanded, a space where
// a comma was meant. The [*Error] names the entry, the byte, and what was probably meant. Where
// pending names are not allowed, such a name is a [spangate.ErrUnknownName] like any other.
var ErrSpec = errors.New("bad spec")

// checkText returns an error if text is too long or has an entry that can't be a name. It is the
// rule for every spec that may have pending names.
func checkText(text string) error {
	if err := spec.CheckLen(text); err != nil {
		return &spangate.ParseError{Spec: spec.Head(text), Err: err}
	}
	if err := specProblem(text); err != nil {
		return &Error{Op: "spec", Input: text, Err: err}
	}
	return nil
}

// specProblem returns an [ErrSpec] that says why an entry of text can't be a name, or nil.
func specProblem(text string) error {
	if err := spec.CheckText(text); err != nil {
		return because(ErrSpec, "%w", err)
	}
	return nil
}

// The length in bytes of the longest name of an owner or author, and of the longest reason.
const (
	MaxOwnerLen = spec.MaxOwnerLen
	MaxWhyLen   = spec.MaxWhyLen
)

// checkAuthor returns an error unless who, which is the value of the field who or owner, and why
// are lines of text, as [spec.CheckLine] says. who must be empty or have a visible character.
func checkAuthor(field, who, why string) error {
	if err := spec.CheckLine(who, MaxOwnerLen); err != nil {
		return &Error{Op: field, Input: who, Err: because(ErrOwner, "%w", err)}
	}
	if who != "" && !spec.Visible(who) {
		return &Error{Op: field, Input: who, Err: because(ErrOwner, "it has no visible character")}
	}
	if err := spec.CheckLine(why, MaxWhyLen); err != nil {
		return &Error{Op: "why", Input: why, Err: because(ErrWhy, "%w", err)}
	}
	return nil
}
