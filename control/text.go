// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

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
	MaxOwnerLen = 128
	MaxWhyLen   = 1024
)

// checkAuthor returns an error unless who, which is the value of the field who or owner, and why
// are text of bounded length that a log, a page and a terminal show on one line and in the order in
// which it is written. who must be empty or have a visible character.
func checkAuthor(field, who, why string) error {
	bad := func(op, input string, reason error, format string, args ...any) error {
		return &Error{Op: op, Input: input, Err: because(reason, format, args...)}
	}
	switch {
	case len(who) > MaxOwnerLen:
		return bad(field, who, ErrOwner, "%d bytes; at most %d", len(who), MaxOwnerLen)
	case !line(who):
		return bad(field, who, ErrOwner, notLine)
	case who != "" && !visible(who):
		return bad(field, who, ErrOwner, "it has no visible character")
	case len(why) > MaxWhyLen:
		return bad("why", why, ErrWhy, "%d bytes; at most %d", len(why), MaxWhyLen)
	case !line(why):
		return bad("why", why, ErrWhy, notLine)
	}
	return nil
}

const notLine = "must be one line of UTF-8 without control characters"

// line reports whether s is UTF-8 without control characters, line and paragraph separators,
// and the characters that reorder the text around them.
func line(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

// visible reports whether s has a character that leaves a mark. U+2800 is a Braille pattern
// without dots.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r != '\u2800' && !unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}
