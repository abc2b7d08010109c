// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// TestTextThatCantBeANameIsRefusedEverywhere gives bad text to every function that takes a spec with
// pending names. Nothing changes.
func TestTextThatCantBeANameIsRefusedEverywhere(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	flagged := baseline("job")
	newWith := func(opt control.Option) error {
		c, err := control.New(registry.New(), opt)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	places := map[string]func(spec string) error{
		"Start": func(s string) error { return newWith(control.StartupBaseline(baseline(s))) },
		"Start of Config": func(s string) error {
			return newWith(control.StartupBaseline(control.Config{Enabled: true, SpanGroups: s}.Baseline()))
		},
		"Deny":      func(s string) error { return newWith(control.Deny(s)) },
		"Ceiling":   func(s string) error { return newWith(control.Ceiling(s)) },
		"Configure": func(s string) error { return f.Configure(baseline(s)) },
		"Configure Config": func(s string) error {
			return f.Configure(control.Config{Enabled: true, SpanGroups: s}.Baseline())
		},
		"Limits.Deny":     func(s string) error { return f.SetLimits(control.Limits{Deny: s}) },
		"Limits.Ceiling":  func(s string) error { return f.SetLimits(control.Limits{Ceiling: s}) },
		"Flag":            func(s string) error { return control.Flag(&flagged).Set(s) },
		"Controller.Flag": func(s string) error { return f.Flag().Set(s) },
		"SetBaseline":     func(s string) error { return f.SetBaseline(control.Baseline{Spec: s, AllowPending: true}) },
		"Lease": func(s string) error {
			_, err := f.Lease(control.LeaseRequest{Owner: "me", Spec: s, TTL: time.Hour, AllowPending: true})
			return err
		},
		"Lease.Quiet": func(s string) error {
			_, err := f.Lease(control.LeaseRequest{Owner: "me", Quiet: s, TTL: time.Hour, AllowPending: true})
			return err
		},
		"FromLookup": func(s string) error {
			b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: "1", control.EnvGymSpanGroups: s}))
			if err != nil {
				requireEnvironmentError(t, err)
				require.Empty(t, b.Spec)
			}
			return err
		},
	}
	before := f.State()
	for place, set := range places {
		for text, want := range map[string]string{
			`"default,sandbox"`:  "at byte 0; remove the quotes",
			"[default, sandbox]": "at byte 0; write a comma-separated list without brackets",
			"job,$(SPANS)":       "at byte 4; the variable was not expanded",
			"default sandbox":    "at byte 7; a comma is missing between two names",
			"job,a\xffb":         "is not UTF-8 at byte 5",
			"all,-":              "no name after the '-' at byte 4",
		} {
			err := set(text)
			require.ErrorIs(t, err, control.ErrSpec, "%s %q", place, text)
			require.ErrorContains(t, err, want, place)
			require.ErrorContains(t, err, strings.Trim(strconv.Quote(text), `"`), "%s names the whole text", place)
		}
		require.Error(t, set(tooLong), place)
	}
	require.Equal(t, before.Generation, f.State().Generation)
	require.Equal(t, baseline("job"), flagged)
	longest := strings.Repeat("late,", spangate.MaxSpecLen/5) + "x"
	require.Len(t, longest, spangate.MaxSpecLen)
	for place, set := range places {
		require.Error(t, set(longest+"y"), place)
		require.NoError(t, set(longest), place)
	}
	for place, set := range places {
		require.NoError(t, set("default,late_4.x"), "%s: a name that may be registered later", place)
	}
}

func TestEndpointNamesTheFieldOfTextThatCantBeAName(t *testing.T) {
	e := newEndpoint(t, newFixture(t), anyone())
	for field, body := range map[string]string{
		"spec":  "owner=me&ttl=5m&allow_pending=true&spec=" + url.QueryEscape(`"job"`),
		"quiet": "owner=me&ttl=5m&allow_pending=true&quiet=" + url.QueryEscape(`"job"`),
	} {
		refused := as[wire.Error](e.form("POST", "/leases", body), 400)
		require.Equal(t, field, refused.Field)
		require.Contains(t, refused.Message, "remove the quotes")
	}
	refused := as[wire.Error](e.form("PUT", "/", "allow_pending=true&spec="+url.QueryEscape("job sandbox")), 400)
	require.Equal(t, "spec", refused.Field)
	require.Contains(t, refused.Message, "a comma is missing")
}

func TestStrictCheckReportsBadTextAsUnknownName(t *testing.T) {
	f := newFixture(t)
	require.ErrorIs(t, f.SetBaseline(baseline(`"job"`)), spangate.ErrUnknownName)
}

// names has strings that are accepted or not as the name of an owner or author, and as a reason.
var names = []struct {
	name    string
	visible bool // accepted as a name
	line    bool // accepted as a reason
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

func TestNamesMustBeOneVisibleLine(t *testing.T) {
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

// TestControlAndDirectionCharactersAreRefusedInNames enumerates the characters that could hide or
// reorder the text of a log.
func TestControlAndDirectionCharactersAreRefusedInNames(t *testing.T) {
	f := newFixture(t)
	for _, table := range []*unicode.RangeTable{unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control} {
		for r := range unicode.MaxRune {
			if unicode.Is(table, r) {
				require.ErrorIs(t, f.ResetBaseline("a"+string(r)+"b", ""), control.ErrOwner, "%U", r)
			}
		}
	}
}
