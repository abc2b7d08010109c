// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
)

// names are accepted or not as an owner, as a who and, but for those that are only invisible,
// as a reason.
var names = []struct {
	name    string
	visible bool // as an owner or who
	line    bool // also as a reason
}{
	{"me", true, true},
	{"Zoë, 山田 (team-7) <z@example.com>", true, true},
	{"\u05e2\u05d1\u05e8\u05d9\u05ea", true, true},                                     // letters from right to left
	{"\u0646\u0627\u0645\u0647\u200c\u0627\u06cc", true, true},                         // a joiner that Persian needs
	{"\U0001f469\u200d\U0001f52c", true, true},                                         // and one of an emoji
	{strings.Repeat("o", control.MaxOwnerLen), true, true},                             // the longest
	{"\u200b", false, true},                                                            // zero-width space
	{"\u2060\ufeff\u00ad", false, true},                                                // word joiner, BOM, soft hyphen
	{" \u200d\u3000\u00a0", false, true},                                               // space and a joiner
	{"\u2800", false, true},                                                            // Braille without dots
	{"\u3164\u115f\uffa0", false, true},                                                // fillers of Hangul
	{"\ufe0f\U000e0100\u180b", false, true},                                            // variation selectors
	{"\U000e0041", false, true},                                                        // a tag character
	{"\u034f", false, true},                                                            // grapheme joiner
	{"\u202e", false, false}, {"\u2066\u2069", false, false}, {"\u200e", false, false}, // only direction
	{"me\u202eroot", false, false}, {"me\u2067", false, false}, {"\u061cme", false, false}, {"m\u200fe", false, false},
	{"a\nb", false, false}, {"a\rb", false, false}, {"a\x00b", false, false}, {"a\x1b[2J", false, false}, {"a\u0085b", false, false}, {"\x7f", false, false},
	{"a\u2028b", false, false}, {"a\u2029b", false, false},
	{"\xff", false, false}, {"a\xc3", false, false},
}

func TestNamesAreALineThatCanBeSeen(t *testing.T) {
	f := newFixture(t)
	for _, c := range names {
		before := f.State().Generation
		_, err := f.Lease(control.LeaseRequest{Owner: c.name, Spec: "job", TTL: time.Hour})
		for what, err := range map[string]error{
			"owner":    err,
			"baseline": f.SetBaseline(control.Baseline{Spec: "job", Who: c.name}),
			"startup":  f.Configure(control.Baseline{Spec: "job", Who: c.name}),
			"reset":    f.ResetBaseline(c.name, ""),
			"limits":   f.SetLimits(control.Limits{Who: c.name}),
		} {
			if c.visible {
				require.NoError(t, err, "%s %+q", what, c.name)
			} else {
				require.ErrorIs(t, err, control.ErrOwner, "%s %+q", what, c.name)
			}
		}
		require.Equal(t, c.visible, f.State().Generation != before, "%+q", c.name)
		err = f.SetBaseline(control.Baseline{Spec: "job", Why: c.name})
		if c.line {
			require.NoError(t, err, "%+q", c.name)
		} else {
			require.ErrorIs(t, err, control.ErrWhy, "%+q", c.name)
		}
	}
}

// TestEveryControlAndDirectionIsRefusedWithinAName enumerates the characters that could hide or
// reorder what a log says.
func TestEveryControlAndDirectionIsRefusedWithinAName(t *testing.T) {
	f := newFixture(t)
	for _, table := range []*unicode.RangeTable{unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control} {
		for r := range unicode.MaxRune {
			if unicode.Is(table, r) {
				require.ErrorIs(t, f.ResetBaseline("a"+string(r)+"b", ""), control.ErrOwner, "%U", r)
			}
		}
	}
}
