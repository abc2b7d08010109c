// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The length in bytes of the longest name of an owner or author of a change, and of the longest reason.
const (
	MaxOwnerLen = 128
	MaxWhyLen   = 1024
)

// CheckLine returns an error unless s is text of at most most bytes that a log, a page and a terminal
// show on one line and in the order in which it is written: UTF-8 without control characters, line and
// paragraph separators, and the characters that reorder the text around them.
func CheckLine(s string, most int) error {
	if len(s) > most {
		return fmt.Errorf("%d bytes; at most %d", len(s), most)
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}) {
		return errors.New("must be one line of UTF-8 without control characters")
	}
	return nil
}

// Visible reports whether s has a character that leaves a mark. U+2800 is a Braille pattern without
// dots.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r != '\u2800' && !unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}
