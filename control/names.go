// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds on what people say of themselves and of their reasons, in bytes.
const (
	MaxOwnerLen = 128
	MaxWhyLen   = 1024
)

// checkNames returns an error unless who, which may be empty, and why are text of bounded
// length that a log, a page and a terminal can show on a line.
func checkNames(who, why string) error {
	switch {
	case len(who) > MaxOwnerLen:
		return &Error{Op: "owner", Input: who, Err: because(ErrOwner, "%d bytes; at most %d", len(who), MaxOwnerLen)}
	case !line(who):
		return &Error{Op: "owner", Input: who, Err: because(ErrOwner, "one line of UTF-8, please")}
	case len(why) > MaxWhyLen:
		return &Error{Op: "reason", Input: why, Err: because(ErrWhy, "%d bytes; at most %d", len(why), MaxWhyLen)}
	case !line(why):
		return &Error{Op: "reason", Input: why, Err: because(ErrWhy, "one line of UTF-8, please")}
	}
	return nil
}

// checkOwner returns an error unless owner is a name that says something.
func checkOwner(owner string) error {
	if strings.TrimSpace(owner) == "" {
		return &Error{Op: "owner", Err: because(ErrOwner, "it is blank; say whose lease it is")}
	}
	return nil
}

func line(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
