// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckName returns an error unless name is valid for a group, preset or namespace: lower-case ASCII
// letters, digits, '_', '.' and, not first, '-', from 1 to [MaxNameLen] bytes.
func CheckName(name string) error {
	if name == "" {
		return errors.New("it is empty")
	}
	if len(name) > MaxNameLen {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(name), MaxNameLen)
	}
	if i, r := badRune(name, func(r rune) rune { return r }); i >= 0 {
		return fmt.Errorf("%q at byte %d; a-z, 0-9, '_', '.' and, not first, '-' are allowed", r, i)
	}
	return nil
}

// CheckText returns an error if an entry of s can't be a name, in upper or lower case. It accepts
// names that are unknown now, which may be registered later. The error has the entry, its byte offset
// in s and a hint.
func CheckText(s string) error {
	for e := range Entries(s) {
		if e.Name == "" {
			return fmt.Errorf("no name after the '-' at byte %d", e.Offset-1)
		}
		i, r := badRune(e.Name, foldRune)
		if i < 0 {
			if _, fits := Fold(new([MaxNameLen]byte), e.Name); !fits {
				return fmt.Errorf("entry %q at byte %d can't be a name: it is longer than %d bytes", Head(e.Name), e.Offset, MaxNameLen)
			}
			continue
		}
		if _, size := utf8.DecodeRuneInString(e.Name[i:]); r == utf8.RuneError && size == 1 {
			return fmt.Errorf("entry %q is not UTF-8 at byte %d", Head(e.Name), e.Offset+i)
		}
		return fmt.Errorf("entry %q can't be a name: it has %q at byte %d; %s", Head(e.Name), r, e.Offset+i, hint(r, i))
	}
	return nil
}

// badRune returns the first rune of name that, folded, breaks the rule of [CheckName], and its
// offset, or -1 if there is none. A byte that is not UTF-8 is [utf8.RuneError].
func badRune(name string, fold func(rune) rune) (int, rune) {
	for i, r := range name {
		if !nameRune(fold(r), i == 0) {
			return i, r
		}
	}
	return -1, 0
}

// nameRune reports whether a name may have r, as its first rune or a later one.
func nameRune(r rune, first bool) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '.' || r == '-' && !first
}

// MakeName returns a valid name for any s: trimmed and folded, with '_' for each rune that no name
// may have, and cut to [MaxNameLen] bytes. It returns "" if that leaves neither a letter nor a
// digit.
func MakeName(s string) string {
	first := true
	name := strings.Map(func(r rune) rune {
		if r = foldRune(r); !nameRune(r, first) {
			r = '_'
		}
		first = false
		return r
	}, Trim(s))
	name = name[:min(len(name), MaxNameLen)]
	if strings.Trim(name, "_.-") == "" {
		return ""
	}
	return strings.Clone(name)
}

// hint returns what to do about r at byte i of an entry's name.
func hint(r rune, i int) string {
	switch r {
	case '"', '\'', '`', '“', '”', '‘', '’':
		return "remove the quotes"
	case '[', ']', '(', ')':
		return "write a comma-separated list without brackets, as in default,sandbox"
	case '{', '}':
		return "write a comma-separated list without braces; if this is a template, it was not expanded"
	case '$', '%':
		return "the variable was not expanded"
	case ';', '|', '+', '&':
		return "write a comma between two names"
	case '=':
		return "write the names alone, as in default,sandbox"
	case '*':
		return "all is every group"
	case '#':
		return "comments are not allowed"
	case '-', '!', '–', '—', '\u2212':
		return "to exclude a group, write one '-' right before its name"
	}
	switch {
	case isSpace(r) && i == 0:
		return "write the name right after the '-'"
	case isSpace(r):
		return "a comma is missing between two names"
	}
	return "a-z, 0-9, '_', '.' and '-' are allowed"
}
