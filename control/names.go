// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The length in bytes of the longest owner, or name of who asks, and of the longest reason.
const (
	MaxOwnerLen = 128
	MaxWhyLen   = 1024
)

// checkNames returns an error unless who and why are text of bounded length that a log, a page
// and a terminal show on one line and in the order in which it is written. who must be empty or
// have a visible character.
func checkNames(who, why string) error {
	switch {
	case len(who) > MaxOwnerLen:
		return &Error{Op: "owner", Input: who, Err: because(ErrOwner, "%d bytes; at most %d", len(who), MaxOwnerLen)}
	case !line(who):
		return &Error{Op: "owner", Input: who, Err: because(ErrOwner, notLine)}
	case who != "" && !visible(who):
		return &Error{Op: "owner", Input: who, Err: because(ErrOwner, "it has no visible character")}
	case len(why) > MaxWhyLen:
		return &Error{Op: "reason", Input: why, Err: because(ErrWhy, "%d bytes; at most %d", len(why), MaxWhyLen)}
	case !line(why):
		return &Error{Op: "reason", Input: why, Err: because(ErrWhy, notLine)}
	}
	return nil
}

// checkOwner returns an error unless owner is a name that can be seen.
func checkOwner(owner string) error {
	if !visible(owner) {
		return &Error{Op: "owner", Input: owner, Err: because(ErrOwner, "it is blank; say whose lease it is")}
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
