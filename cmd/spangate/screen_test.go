// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// newTestScreen returns a screen of a number of columns, 0 for any, and what is written to it.
func newTestScreen(columns int) (*screen, *bytes.Buffer) {
	var b bytes.Buffer
	return &screen{ctx: context.Background(), w: &colorprofile.Writer{Forward: &b, Profile: colorprofile.NoTTY}, width: columns}, &b
}

func TestTable(t *testing.T) {
	headers, rows := []string{"H", "TWO", "3"}, [][]string{{"a", "one two three", "x"}, {"日本", "", ""}, {"c", "four"}}
	const whole = "H     TWO            3\na     one two three  x\n日本\nc     four\n"
	for _, columns := range []int{0, 100, 22, 16, 1} {
		s, b := newTestScreen(columns)
		s.table(headers, rows)
		if columns == 0 || columns >= 22 {
			assert.Equal(t, whole, b.String(), columns)
		}
		assert.NotRegexp(t, `(?m) $`, b.String())
		if columns < 10 { // narrower than any table
			continue
		}
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, lipgloss.Width(line), cmp.Or(columns, 100), "%d:\n%s", columns, b)
		}
		for word := range strings.FieldsSeq(whole) {
			assert.Contains(t, b.String(), word, columns)
		}
	}
	s, b := newTestScreen(0)
	long := strings.Repeat("v", 1000)
	s.table(nil, [][]string{{"key", "value"}, {"k", long, "w"}})
	assert.Equal(t, "key  value\nk    "+long+"  w\n", b.String(), "nothing is wrapped in a pipe")
	s, b = newTestScreen(0)
	s.table([]string{"EMPTY", "A", "NONE", "B", "SHORT"}, [][]string{{"", "1", "", "2"}, {"", "", ""}})
	assert.Equal(t, "A  B\n1  2\n\n", b.String(), "a column without a value is left out")
	s, b = newTestScreen(0)
	s.table(nil, nil)
	assert.Empty(t, b.String())
}

func TestLongTableEndsWithItsContext(t *testing.T) {
	s, b := newTestScreen(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ctx = ctx
	s.table(nil, slices.Repeat([][]string{{"x"}}, 100))
	assert.NoError(t, s.err, "a short table is written")
	s.table(nil, slices.Repeat([][]string{{"x"}}, 10_000))
	assert.ErrorIs(t, s.err, context.Canceled)
	assert.Less(t, strings.Count(b.String(), "\n"), 1000)
}

func TestJSONIsTheSameTextInCharactersThatPrint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		s, b := newTestScreen(0)
		s.json(map[string]string{text: text}, "  ")
		require.NoError(t, s.err)
		var got map[string]string
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		require.Equal(t, map[string]string{text: text}, got)
	})
	s, b := newTestScreen(0)
	s.json(json.RawMessage("[\"a\u009b\x7f\u202e\U000e0001\xff<é\"]"), "  ")
	assert.Equal(t, "[\n  \"a\\u009b\\u007f\\u202e\\udb40\\udc01\\ufffd<é\"\n]\n", b.String())
}
