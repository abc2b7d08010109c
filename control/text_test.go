// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// TestTextThatCantBeANameIsRefusedWhereverASpecIsRead gives bad text to everything that takes
// a spec and keeps pending names. Nothing changes.
func TestTextThatCantBeANameIsRefusedWhereverASpecIsRead(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
	flagged := baseline("job")
	makes := func(opt control.Option) error {
		c, err := control.New(registry.New(), opt)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	places := map[string]func(spec string) error{
		"Start": func(s string) error { return makes(control.StartupBaseline(baseline(s))) },
		"Start of Config": func(s string) error {
			return makes(control.StartupBaseline(control.Config{Enabled: true, SpanGroups: s}.Baseline()))
		},
		"Deny":      func(s string) error { return makes(control.Deny(s)) },
		"Ceiling":   func(s string) error { return makes(control.Ceiling(s)) },
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
		require.NoError(t, set("default,late_4.x"), "%s: a name that may yet come", place)
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

// TestPersonsBadTextIsAnUnknownName pins the strict reading, which needs no rule for text.
func TestPersonsBadTextIsAnUnknownName(t *testing.T) {
	f := newFixture(t)
	require.ErrorIs(t, f.SetBaseline(baseline(`"job"`)), spangate.ErrUnknownName)
}
