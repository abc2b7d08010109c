// SPDX-License-Identifier: Apache-2.0

// Package spec has the rules of specs and names: the entries of a spec, which names are valid, which
// spellings mean the same name, and what a spec selects from a table of names.
package spec

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLen is the length in bytes of the longest spec that is read.
const MaxLen = 64 << 10

// maxQuoted is how many bytes of an input [Head] returns.
const maxQuoted = 256

// MaxNameLen is the length in bytes of the longest name.
const MaxNameLen = 63

// Entry is one entry of a spec.
type Entry struct {
	// Name is the name as written, without the '-' of an exclusion. It shares the memory of
	// the spec. It is empty for an entry that is '-' alone.
	Name string
	// Offset is the index in the spec of the first byte of Name.
	Offset int
	// Exclude reports whether the entry begins with '-'.
	Exclude bool
}

// Entries yields the entries of s that are not empty, in order.
func Entries(s string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for start := 0; start <= len(s); {
			field, _, _ := strings.Cut(s[start:], ",")
			e := trim(field, start)
			start += len(field) + len(",")
			if e.Name == "" {
				continue
			}
			if e.Name[0] == '-' {
				e = Entry{Name: e.Name[1:], Offset: e.Offset + 1, Exclude: true}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// trim returns field, which begins at start, without the space around it.
func trim(field string, start int) Entry {
	if n := len(field); n > 0 && graphic(field[0]) && graphic(field[n-1]) {
		return Entry{Name: field, Offset: start} // the common case, and much faster
	}
	name := strings.TrimLeftFunc(field, isSpace)
	start += len(field) - len(name)
	return Entry{Name: strings.TrimRightFunc(name, isSpace), Offset: start}
}

// Trim returns s without the space around it, as Python's str.strip does.
func Trim(s string) string { return strings.TrimFunc(s, isSpace) }

// graphic reports whether b is ASCII and not space.
func graphic(b byte) bool { return ' ' < b && b < 0x80 }

// isSpace reports whether Python's str.strip trims r: Unicode's white space, and the four
// ASCII separators that Unicode does not count.
func isSpace(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' }

// Fold lower-cases name into buf as Python's str.lower does. It reports false if the result is not
// ASCII or does not fit, since then it is not a valid name.
func Fold(buf *[MaxNameLen]byte, name string) ([]byte, bool) {
	b := buf[:0]
	for _, r := range name {
		r = foldRune(r)
		if r >= utf8.RuneSelf || len(b) == cap(b) {
			return nil, false
		}
		b = append(b, byte(r))
	}
	return b, true
}

// foldRune lower-cases r if the result is ASCII. Of the runes outside ASCII, only KELVIN SIGN has
// an ASCII lower case.
func foldRune(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == '\u212A': // KELVIN SIGN
		return 'k'
	}
	return r
}

// Lower returns a lower-case copy of name. Unlike [Fold] it also takes names that are not valid, so
// that a report lists their spellings once.
func Lower(name string) string {
	var buf [MaxNameLen]byte
	if b, ok := Fold(&buf, name); ok {
		return string(b)
	}
	// Go maps İ to i, which would look like an ASCII name. Python keeps its dot.
	return strings.Clone(strings.ToLower(strings.ReplaceAll(name, "İ", "i\u0307")))
}

// Lookup returns the entry of table, whose keys are folded, for name in any case, and reports
// whether there is one.
func Lookup[V any](table map[string]V, name string) (v V, known bool) {
	if v, known = table[name]; known {
		return v, true // the common case, without folding
	}
	var buf [MaxNameLen]byte
	if folded, ok := Fold(&buf, name); ok {
		v, known = table[string(folded)]
	}
	return v, known
}

// Eval looks every name of s up in table, as [Lookup] does. It calls add for the plain entries,
// then remove for the excluded ones, so that the order of entries does not matter, and returns
// the entries that are not in table, in the order of s, or nil.
func Eval[V any](s string, table map[string]V, add, remove func(V)) (unknown []Entry) {
	excludes := false
	for e := range Entries(s) {
		v, known := Lookup(table, e.Name)
		switch {
		case !known:
			unknown = append(unknown, e)
		case e.Exclude:
			excludes = true
		default:
			add(v)
		}
	}
	if !excludes {
		return unknown
	}
	for e := range Entries(s) {
		if v, known := Lookup(table, e.Name); known && e.Exclude {
			remove(v)
		}
	}
	return unknown
}

// ErrTooLong is the sentinel of the errors of [CheckLen].
var ErrTooLong = errors.New("spec too long")

// CheckLen returns an error if s is longer than any spec that is read.
func CheckLen(s string) error {
	if len(s) > MaxLen {
		return fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLong, len(s), MaxLen)
	}
	return nil
}

// Head returns s for a message or a report: all of it, or the beginning of a long s and "…".
func Head(s string) string {
	if len(s) <= maxQuoted+len("…") {
		return s
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
