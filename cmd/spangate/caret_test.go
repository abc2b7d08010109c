// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"

	"github.com/spangate/spangate/control/wire"
)

func TestCarets(t *testing.T) {
	at := func(offset int, name string) wire.UnknownName { return wire.UnknownName{Offset: offset, Name: name} }
	for _, test := range []struct {
		name, text string
		unknown    []wire.UnknownName
		width      int
		want       string
	}{
		{"one name", "job,sandboxx", []wire.UnknownName{at(4, "sandboxx")}, 80, `
job,sandboxx
    ^^^^^^^^`},
		{"two names, in any order", "jb,all,stp", []wire.UnknownName{at(7, "stp"), at(0, "jb")}, 80, `
jb,all,stp
^^     ^^^`},
		{"a missing name", "all,-", []wire.UnknownName{at(5, "")}, 80, `
all,-
     ^`},
		{"wide characters", "日本,語x", []wire.UnknownName{at(7, "語x")}, 80, `
日本,語x
     ^^^`},
		{"a family of emoji is shown as its parts, whose joiners a terminal would hide", "a,👩\u200d👧,b", []wire.UnknownName{at(14, "b")}, 80, `
a,👩\u200d👧,b
             ^`},
		{"combining characters take no column", "e\u0301e\u0301,x", []wire.UnknownName{at(7, "x")}, 80,
			"\ne\u0301e\u0301,x\n   ^"},
		{"control characters are escaped", "\x1b[31m,x", []wire.UnknownName{at(6, "x")}, 80, `
\x1b[31m,x
         ^`},
		{"bytes that are not UTF-8", "\xff\xfe,x", []wire.UnknownName{at(0, "\xff\xfe"), at(3, "x")}, 80, `
\xff\xfe,x
^^^^^^^^ ^`},
		{"a long text is shown from its first unknown name on", "aaaa,bbbb,cccc,dddd,eeee", []wire.UnknownName{at(20, "eeee"), at(10, "cccc")}, 20, `
…cccc,dddd,eeee
 ^^^^      ^^^^`},
		{"a long rest is left out", "aaaa,bbbb,cccc,dddd,eeee", []wire.UnknownName{at(20, "eeee"), at(10, "cccc")}, 10, `
…cccc,dddd,…
 ^^^^`},
		{"the beginning of a long name", "a," + strings.Repeat("x", 99) + ",b", []wire.UnknownName{at(2, strings.Repeat("x", 99))}, 10, `
…xxxxxxxxxx…
 ^^^^^^^^^^`},
		{"names that are not in the text", "job", []wire.UnknownName{at(4, "b"), at(-1, "j"), at(2, "bb"), at(0, "x")}, 80, "\n"},
		{"empty text", "", nil, 80, "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			line, under, _ := carets(test.text, test.unknown, test.width)
			assert.Equal(t, strings.TrimPrefix(test.want, "\n"), strings.TrimSuffix(line+"\n"+under, "\n"))
		})
	}
}

func TestEscapeIsOneLineThatPrints(t *testing.T) {
	for text, want := range map[string]string{
		"sandbox": "sandbox", "日本 é": "日本 é", "a\nb\tc": `a\nb\tc`, "\x1b[2J": `\x1b[2J`,
		"a\u202eb": `a\u202eb`, "\u200b": `\u200b`, "\x9b": `\x9b`, "\u009b": `\u009b`, "\ufffd": "\ufffd", "": "",
	} {
		assert.Equal(t, want, escape(text), "%q", text)
	}
}

// A name that is not cut off has carets of its width right under it.
func FuzzCarets(f *testing.F) {
	f.Add("job,sandboxx", 4, 8, 80)
	f.Add("日本,語\x00,\xff", 7, 3, 9) // wide, escaped, and not text
	f.Add("all,-", 5, 0, 0)         // a name that is missing
	f.Add("all,-", 5, 0, 5)         // right behind the last column
	f.Add(strings.Repeat("a,", 100)+"b", 200, 1, 20)
	f.Fuzz(func(t *testing.T, text string, offset, n, width int) {
		width %= 1000
		if offset < 0 || n < 0 || offset > len(text) || n > len(text)-offset {
			line, under, _ := carets(text, []wire.UnknownName{{Name: "x", Offset: offset}}, width)
			assert.True(t, offset >= 0 && offset < len(text) || line+under == "")
			return
		}
		name := text[offset:][:n]
		line, under, _ := carets(text, []wire.UnknownName{{Name: name, Offset: offset}}, width)
		for _, r := range line + under {
			if !strconv.IsPrint(r) {
				t.Fatalf("%q %q", line, under)
			}
		}
		assert.Equal(t, 1, len(strings.Fields(under)), "%q", under)
		fits := lipgloss.Width(text) < width && lipgloss.Width(escape(text)) < width
		if !fits || escape(name) == "" || !utf8.ValidString(text[:offset]) || !utf8.ValidString(name) {
			return
		}
		from := lipgloss.Width(under) - len(strings.TrimSpace(under))
		assert.Equal(t, lipgloss.Width(escape(text[:offset])), from)
		assert.Equal(t, max(1, lipgloss.Width(escape(name))), lipgloss.Width(under)-from)
	})
}
