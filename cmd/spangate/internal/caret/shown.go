// SPDX-License-Identifier: Apache-2.0

package caret

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Shown returns text as it can be shown on one line of a terminal: what would move the
// cursor, change its colour or direction, or leave no trace is escaped as in Go. Text
// from another process goes through it.
func Shown(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		piece, shown := next(text)
		b.WriteString(shown)
		text = text[len(piece):]
	}
	return b.String()
}

// maxShort is how many bytes of a text [Short] keeps.
const maxShort = 1 << 10

// Short is [Shown] for a text of any length: of a long one it shows the beginning.
func Short(text string) string {
	if len(text) <= maxShort {
		return Shown(text)
	}
	return Shown(strings.ToValidUTF8(text[:maxShort], "")) + "…"
}

// next returns the first character of text, which is not empty, and how it is shown.
func next(text string) (piece, shown string) {
	r, size := utf8.DecodeRuneInString(text)
	piece = text[:size]
	if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
		return piece, piece
	}
	quoted := strconv.Quote(piece)
	return piece, quoted[1 : len(quoted)-1]
}
