// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/registry"
)

// ErrSpec is a spec with an entry that can't be a name, whatever registers: quotes that an
// environment file kept, a list in brackets, a variable that was not expanded, a space where
// a comma was meant. The [*Error] names the entry, the byte, and what was probably meant.
var ErrSpec = errors.New("bad spec")

// checkText returns an error if the spec in text is longer than any that is read, or has an
// entry that can't be a name. It is the rule for every spec that may have pending names.
func checkText(text string) error {
	if err := checkLength(text); err != nil {
		return err
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

// checkLength returns an error if spec is longer than any that is read.
func checkLength(spec string) error {
	if len(spec) <= spangate.MaxSpecLen {
		return nil
	}
	return registry.State{}.Check(spec)
}
