// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

func TestEnvironmentPrecedence(t *testing.T) {
	const (
		gymOn, lensOn = control.EnvGymEnabled, control.EnvLensEnabled
		gym, lens     = control.EnvGymSpanGroups, control.EnvLensSpanGroups
	)
	for _, c := range []struct {
		env  map[string]string
		spec string
		why  string // what decided
	}{
		{nil, "", "neither " + gymOn + " nor " + lensOn + " is set"},
		{map[string]string{gym: "all"}, "", "neither " + gymOn},
		{map[string]string{gymOn: "1"}, "default", "neither " + gym},
		{map[string]string{lensOn: "on"}, "default", "neither " + gym},
		{map[string]string{gymOn: "true", gym: "sandbox", lens: "job"}, "sandbox", gym},
		{map[string]string{gymOn: "true", lens: "job"}, "job", lens},
		{map[string]string{gymOn: "true", gym: " \t", lens: "job"}, "job", lens},
		{map[string]string{gymOn: "true", gym: "\u3000", lens: ""}, "default", "neither " + gym},
		{map[string]string{gymOn: "true", gym: "nobody_has_it", lens: "job"}, "nobody_has_it", gym},
		{map[string]string{gymOn: "true", gym: "-all", lens: "job"}, "-all", gym},
		{map[string]string{gymOn: "true", gym: " Default ,SANDBOX"}, " Default ,SANDBOX", gym},
		{map[string]string{gymOn: "false", lensOn: "true", gym: "all"}, "", gymOn + " is false"},
		{map[string]string{gymOn: " ", lensOn: "no", gym: "all"}, "", lensOn + " is false"},
		{map[string]string{gymOn: "YES", lensOn: "junk"}, "default", "neither " + gym},
	} {
		b, err := control.FromLookup(lookup(c.env))
		require.NoError(t, err, "%v", c.env)
		require.Equal(t, c.spec, b.Spec, "%v", c.env)
		require.Contains(t, b.Why, c.why, "%v", c.env)
		require.Equal(t, "environment", b.Who)
		require.True(t, b.AllowPending)
	}
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func TestEnabledIsOneOfEightWordsInAnyCase(t *testing.T) {
	for text, want := range map[string]string{
		"1": "default", "true": "default", "yes": "default", "on": "default", " TRUE\n": "default", "Yes": "default",
		"0": "", "false": "", "no": "", "off": "", "OFF": "", "\tNo ": "",
	} {
		b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: text}))
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, b.Spec, "%q", text)
	}
	for _, text := range []string{"2", "t", "y", "enabled", "truefalse", "true,", "none", "01"} {
		b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: text, control.EnvGymSpanGroups: "all"}))
		require.ErrorIs(t, err, control.ErrEnvironment, "%q", text)
		require.Contains(t, err.Error(), `"`+control.EnvGymEnabled+"="+text+`"`)
		require.Empty(t, b.Spec, "%q", text)
	}
	b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: "1", control.EnvLensSpanGroups: tooLong}))
	require.ErrorIs(t, err, control.ErrEnvironment)
	require.Less(t, len(err.Error()), 1000)
	require.Empty(t, b.Spec)
}

func TestFromEnvReadsTheProcessEnvironment(t *testing.T) {
	t.Setenv(control.EnvGymEnabled, "")
	t.Setenv(control.EnvLensEnabled, "true")
	t.Setenv(control.EnvGymSpanGroups, "")
	t.Setenv(control.EnvLensSpanGroups, "job,sandbox")
	b, err := control.FromEnv()
	require.NoError(t, err)
	f := newFixture(t, control.Start(b))
	require.Equal(t, "job,sandbox", f.on())
	require.Equal(t, control.EnvLensSpanGroups, f.State().Why)
}

func TestConfigIsTheEnvironmentInAFile(t *testing.T) {
	var off control.Config
	require.Empty(t, off.Baseline().Spec)
	for text, want := range map[string]string{
		`{}`: "", `{"enabled": true}`: "default", `{"enabled": true, "span_groups": " "}`: "default",
		`{"enabled": true, "span_groups": "job,late"}`: "job,late", `{"enabled": false, "span_groups": "all"}`: "",
	} {
		var c control.Config
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		require.Equal(t, want, c.Baseline().Spec, text)
		var y control.Config
		require.NoError(t, yaml.Unmarshal([]byte(text), &y))
		require.Equal(t, c, y)
	}
}

func TestFlagGoesOverWhatItStartsFrom(t *testing.T) {
	b := control.Baseline{Spec: "default", Who: "environment"}
	flags := flag.NewFlagSet("x", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(control.Flag(&b), "spans", "span groups")
	require.Equal(t, "default", flags.Lookup("spans").DefValue)
	require.NoError(t, flags.Parse(nil))
	require.Equal(t, "environment", b.Who)
	require.NoError(t, flags.Parse([]string{"-spans", "job,late"}))
	require.Equal(t, control.Baseline{Spec: "job,late", Who: "flag", AllowPending: true}, b)

	require.Error(t, flags.Parse([]string{"-spans", tooLong}))
	require.Equal(t, "job,late", b.Spec)
	require.ErrorIs(t, control.Flag(&b).Set(tooLong), spangate.ErrSpecTooLong)
	var usage strings.Builder
	flags.SetOutput(&usage)
	flags.PrintDefaults() // asks the zero value for its text
	require.Contains(t, usage.String(), `(default default)`)
}

func TestFlagOfAControllerIsLive(t *testing.T) {
	f := newFixture(t, control.Start(baseline("job")))
	flags := flag.NewFlagSet("x", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(f.Flag(), "spans", "span groups")
	flags.PrintDefaults()
	require.NoError(t, flags.Parse([]string{"-spans=sandbox,late"}))
	require.Equal(t, "sandbox", f.on())
	require.Equal(t, "sandbox,late", flags.Lookup("spans").Value.String())
	require.Equal(t, "flag", f.State().Startup.Who)
	require.Error(t, flags.Parse([]string{"-spans=" + tooLong}))
	require.Equal(t, "sandbox", f.on())
}
