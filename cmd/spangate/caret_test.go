// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"
)

func TestCarets(t *testing.T) {
	for _, test := range []struct {
		name, text string
		marks      []mark
		width      int
		want       string
	}{
		{"one mark has its note", "job,sandboxx", []mark{{4, 8, "did you mean sandbox?"}}, 80, `
  job,sandboxx
      ^^^^^^^^ did you mean sandbox?`},
		{"two marks, in any order, without notes", "jb,all,stp", []mark{{7, 3, "b"}, {0, 2, "a"}}, 80, `
  jb,all,stp
  ^^     ^^^`},
		{"a missing name", "all,-", []mark{{5, 0, "no name"}}, 80, `
  all,-
       ^ no name`},
		{"wide characters", "日本,語x", []mark{{7, 4, ""}}, 80, `
  日本,語x
       ^^^`},
		{"a family of emoji is shown as its parts, whose joiners a terminal would hide", "a,👩\u200d👧,b", []mark{{14, 1, ""}}, 80, `
  a,👩\u200d👧,b
               ^`},
		{"combining characters take no column", "e\u0301e\u0301,x", []mark{{7, 1, ""}}, 80,
			"\n  e\u0301e\u0301,x\n     ^"},
		{"control characters are escaped", "\x1b[31m,x", []mark{{6, 1, ""}}, 80, `
  \x1b[31m,x
           ^`},
		{"bytes that are not UTF-8", "\xff\xfe,x", []mark{{0, 2, ""}, {3, 1, ""}}, 80, `
  \xff\xfe,x
  ^^^^^^^^ ^`},
		{"lines of a long text without a mark are left out", "aaaa,bbbb,cccc,dddd,eeee", []mark{{10, 4, "?"}, {20, 4, ""}}, 10, `
  …cccc,dddd,…
   ^^^^ ?
  …eeee
   ^^^^`},
		{"the beginning of a long name", "a," + strings.Repeat("x", 99) + ",b", []mark{{2, 99, "?"}}, 10, `
  …xxxxxxxxx…
   ^^^^^^^^^^ ?`},
		{"marks that are not in the text", "job", []mark{{4, 1, ""}, {-1, 1, ""}, {2, 2, ""}, {0, -1, ""}}, 80, ""},
		{"empty text", "", nil, 80, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, strings.TrimPrefix(test.want, "\n"), strings.Join(carets(test.text, test.marks, test.width), "\n"))
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

// A mark that is not cut off has carets of its width right under it.
func FuzzCarets(f *testing.F) {
	f.Add("job,sandboxx", 4, 8, 80)
	f.Add("日本,語\x00,\xff", 7, 3, 9) // wide, escaped, and not text
	f.Add("all,-", 5, 0, 0)         // a name that is missing
	f.Add(strings.Repeat("a,", 100)+"b", 200, 1, 20)
	f.Fuzz(func(t *testing.T, text string, offset, n, width int) {
		width %= 1000
		drawn := strings.Join(carets(text, []mark{{offset: offset, len: n}}, width), "\n")
		for _, r := range drawn {
			if r != '\n' && !strconv.IsPrint(r) {
				t.Fatalf("%q has %q", drawn, r)
			}
		}
		if offset < 0 || n < 0 || offset > len(text) || n > len(text)-offset {
			assert.Empty(t, drawn)
			return
		}
		lines := strings.Split(drawn, "\n")
		if len(lines) != 2 {
			t.Fatalf("%q", lines)
		}
		assert.Equal(t, 1, len(strings.Fields(lines[1])), "%q", lines[1])
		marked := text[offset:][:n]
		name := escape(marked)
		wide := lipgloss.Width(text) < width && lipgloss.Width(escape(text)) < width
		if !wide || name == "" || !utf8.ValidString(text[:offset]) || !utf8.ValidString(marked) || slices.Contains([]rune(text), '…') {
			return
		}
		from := lipgloss.Width(lines[1]) - len(strings.TrimSpace(lines[1]))
		assert.Equal(t, lipgloss.Width("  "+escape(text[:offset])), from)
		assert.Equal(t, max(1, lipgloss.Width(name)), lipgloss.Width(lines[1])-from)
	})
}
