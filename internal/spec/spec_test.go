// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// space has every character c with c.isspace() in CPython 3.11.
const space = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006" +
	"\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func TestTrimRemovesWhatPythonsStripRemoves(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if r != unicode.ReplacementChar && isSpace(r) != strings.ContainsRune(space, r) {
			t.Errorf("%q: space is %t", r, isSpace(r))
		}
	}
	// Around a name, alone, and beside bytes that are not UTF-8.
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

func TestFoldOfEveryRune(t *testing.T) {
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
		assert.False(t, ok, "%#x is not UTF-8", b)
	}
}

func TestLowerReturnsALowerCaseCopy(t *testing.T) {
	for name, want := range map[string]string{
		"":                                "",
		"job":                             "job",
		" Job-1":                          " job-1",
		"chec\u212Apoint":                 "checkpoint",
		"\u017Ftep":                       "\u017Ftep",
		"ÖL":                              "öl",
		"İ":                               "i\u0307",
		strings.Repeat("K", MaxNameLen):   strings.Repeat("k", MaxNameLen),
		strings.Repeat("K", MaxNameLen+1): strings.Repeat("k", MaxNameLen+1),
	} {
		got := Lower(name)
		assert.Equal(t, want, got, "%q", name)
		if name != "" {
			assert.NotSame(t, unsafe.StringData(name), unsafe.StringData(got), "%q", name)
		}
	}
}

func TestLookupFoldsAndTrimsNothing(t *testing.T) {
	table := map[string]int{"k": 1, "job": 0}
	for name, want := range map[string]int{"k": 1, "K": 1, "\u212A": 1, "job": 0, "JOB": 0, " k": -1, "k ": -1, "": -1, "x": -1, "\u017F": -1} {
		v, known := Lookup(table, name)
		assert.Equal(t, want >= 0, known, "%q", name)
		assert.Equal(t, max(want, 0), v, "%q", name)
	}
	_, known := Lookup[int](nil, "k")
	assert.False(t, known)
}

func TestEvalAddsThenRemoves(t *testing.T) {
	table := map[string]string{"a": "1", "b": "2", "c": "3"}
	for s, want := range map[string]string{
		"":            "",
		"a":           "+1",
		"b,A,b":       "+2+1+2",
		"-a":          "-1",
		"-c,a,-b,b":   "+1+2-3-2",
		"x,-y,a,-b,-": "+1-2 ?x@0?y@3?@11",
	} {
		var calls strings.Builder
		unknown := Eval(s, table,
			func(v string) { calls.WriteString("+" + v) },
			func(v string) { calls.WriteString("-" + v) })
		if unknown != nil {
			calls.WriteString(" ")
		}
		for _, e := range unknown {
			fmt.Fprintf(&calls, "?%s@%d", e.Name, e.Offset)
		}
		assert.Equal(t, want, calls.String(), "%q", s)
	}
}

func TestCheckLenRefusesOneByteOverTheLimit(t *testing.T) {
	longest := strings.Repeat("x", 64<<10)
	assert.NoError(t, CheckLen(longest))
	err := CheckLen(longest + "x")
	assert.ErrorIs(t, err, ErrTooLong)
	assert.EqualError(t, err, "spec too long: 65537 bytes, at most 65536 are read")
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
