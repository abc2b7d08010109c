// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawing is a screen of a number of columns, 0 for any, and what is on it.
func drawing(columns int) (*screen, *bytes.Buffer) {
	var b bytes.Buffer
	return &screen{ctx: context.Background(), w: &colorprofile.Writer{Forward: &b, Profile: colorprofile.NoTTY}, width: columns}, &b
}

func TestTable(t *testing.T) {
	rows := [][]string{{"a", "one two three", "x"}, {"日本", "", ""}, {"c", "four"}}
	for columns, want := range map[int]string{
		0:  "H     TWO            3\na     one two three  x\n日本\nc     four\n",
		22: "H     TWO            3\na     one two three  x\n日本\nc     four\n",
		16: "H     TWO      3\na     one two  x\n      three\n日本\nc     four\n",
		// Narrower than any table: as narrow as can be.
		1: "H  T  3\n   W\n   O\n",
	} {
		s, b := drawing(columns)
		s.table([]string{"H", "TWO", "3"}, rows)
		assert.True(t, strings.HasPrefix(b.String(), want), "%d:\n%s", columns, b)
		assert.NotRegexp(t, `(?m) $`, b.String())
	}
	s, b := drawing(0)
	s.table(nil, [][]string{{"key", "value"}, {"k", strings.Repeat("v", 2*maxColumn), "w"}, {"k", "v", "w"}})
	assert.Equal(t, 2*maxColumn+len("key    w\n"), strings.IndexByte(b.String()[len("key  value\n"):], '\n')+1, "a cell that is wider than a column moves the next alone")
	assert.True(t, strings.HasSuffix(b.String(), "k    v"+strings.Repeat(" ", maxColumn-1+gap)+"w\n"))
}

func TestLongTableEndsWithItsContext(t *testing.T) {
	s, b := drawing(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ctx = ctx
	s.table(nil, make([][]string, 100))
	assert.NoError(t, s.err, "a short one is shown")
	s.table(nil, make([][]string, 10_000))
	assert.ErrorIs(t, s.err, context.Canceled)
	assert.Less(t, strings.Count(b.String(), "\n"), 1000)
}

// What JSON shows is the same text, in characters that print.
func TestJSONPrintsAndStaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		s, b := drawing(0)
		s.json(map[string]string{text: text})
		require.NoError(t, s.err)
		var got map[string]string
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		require.Equal(t, map[string]string{text: text}, got)
	})
	s, b := drawing(0)
	s.json(json.RawMessage("[\"a\u009b\x7f\u202e\U000e0001\xff<é\"]"))
	assert.Equal(t, "[\n  \"a\\u009b\\u007f\\u202e\\udb40\\udc01\\ufffd<é\"\n]\n", b.String())
}
