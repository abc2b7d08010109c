// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// space has every character c with c.isspace() in CPython 3.11.
const space = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006" +
	"\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func TestSpaceIsWhatPythonStrips(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if r != unicode.ReplacementChar && isSpace(r) != strings.ContainsRune(space, r) {
			t.Errorf("%q: space is %t", r, isSpace(r))
		}
	}
	// Around a name, alone, and beside bytes that are no UTF-8.
	for _, r := range space {
		s := string(r)
		for field, want := range map[string]string{s + "x" + s: "x", s + "x": "x", "x" + s: "x", s: "", s + "\x85" + s: "\x85", "x" + s + "x": "x" + s + "x"} {
			assert.Equal(t, want, Trim(field), "%q", field)
			e := trim(field, 7)
			assert.Equal(t, want, e.Name, "%q", field)
			start := 7
			if strings.HasPrefix(field, s) {
				start += len(s)
			}
			assert.Equal(t, start, e.Offset, "%q", field)
		}
	}
}

func TestFoldKnowsEveryRune(t *testing.T) {
	var buf [MaxNameLen]byte
	for r := range rune(unicode.MaxRune + 1) {
		want, ok := "", r < 0x80
		switch {
		case 'A' <= r && r <= 'Z':
			want = string("abcdefghijklmnopqrstuvwxyz"[r-'A'])
		case ok:
			want = string(r)
		case r == '\u212A':
			want, ok = "k", true
		}
		if b, folds := Fold(&buf, string(r)); string(b) != want || folds != ok {
			t.Errorf("%q folds to %q, %t", r, b, folds)
		}
	}
	for b := 0x80; b < 0x100; b++ {
		_, ok := Fold(&buf, string([]byte{'a', byte(b)}))
		assert.False(t, ok, "%#x is no UTF-8", b)
	}
}

func TestFoldFitsTheLongestName(t *testing.T) {
	var buf [MaxNameLen]byte
	for _, char := range []string{"k", "K", "\u212A"} {
		b, ok := Fold(&buf, strings.Repeat(char, MaxNameLen))
		require.True(t, ok, char)
		assert.Equal(t, strings.Repeat("k", 63), string(b))
		_, ok = Fold(&buf, strings.Repeat(char, MaxNameLen+1))
		assert.False(t, ok, char)
	}
}

func TestEntriesOfWorkedSpecs(t *testing.T) {
	for s, want := range map[string][]Entry{
		"":            nil,
		",":           nil,
		" ,\t":        nil,
		"a":           {{Name: "a", Offset: 0}},
		"a,":          {{Name: "a", Offset: 0}},
		",a":          {{Name: "a", Offset: 1}},
		" a , b":      {{Name: "a", Offset: 1}, {Name: "b", Offset: 5}},
		"a b":         {{Name: "a b", Offset: 0}},
		"a\u00a0":     {{Name: "a", Offset: 0}},
		"\u2003a,b":   {{Name: "a", Offset: 3}, {Name: "b", Offset: 5}},
		"-a":          {{Name: "a", Offset: 1, Exclude: true}},
		" -a -":       {{Name: "a -", Offset: 2, Exclude: true}},
		"-":           {{Name: "", Offset: 1, Exclude: true}},
		"--":          {{Name: "-", Offset: 1, Exclude: true}},
		"- a,-\u0085": {{Name: " a", Offset: 1, Exclude: true}, {Name: "", Offset: 5, Exclude: true}},
	} {
		var got []Entry
		for e := range Entries(s) {
			got = append(got, e)
		}
		assert.Equal(t, want, got, "%q", s)
	}
	for e := range Entries("a,b") {
		assert.Equal(t, "a", e.Name, "a loop can stop")
		break
	}
}
