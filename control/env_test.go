// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"flag"
	"io"
	"log/slog"
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
		{nil, "", "no " + gymOn + " or " + lensOn + " is set, so every span is off; set " + gymOn + "=1"},
		{map[string]string{gym: "all"}, "", "no " + gymOn + " or " + lensOn + " is set, so every span is off and " + gym + " is ignored; set " + gymOn + "=1"},
		{map[string]string{gym: " ", lens: "job", gymOn: " "}, "", " is set, so every span is off and " + lens + " is ignored; set " + lensOn + "=1"},
		{map[string]string{gymOn: "1"}, "default", "no " + gym + " or " + lens + " is set, so default"},
		{map[string]string{lensOn: "on"}, "default", "no " + gym + " or " + lens + " is set, so default"},
		{map[string]string{gymOn: "true", gym: "sandbox", lens: "job"}, "sandbox", gym},
		{map[string]string{gymOn: "true", lens: "job"}, "job", lens},
		{map[string]string{gymOn: "true", gym: " \t", lens: "job"}, "job", lens},
		{map[string]string{gymOn: "true", gym: "\u3000", lens: ""}, "default", "no " + gym + " or " + lens + " is set, so default"},
		{map[string]string{gymOn: "true", gym: "late_name", lens: "job"}, "late_name", gym},
		{map[string]string{gymOn: "true", gym: "-all", lens: "job"}, "-all", gym},
		{map[string]string{gymOn: "true", gym: " Default ,SANDBOX"}, " Default ,SANDBOX", gym},
		{map[string]string{gymOn: "false", lensOn: "true", gym: "all"}, "", gymOn + " is false"},
		{map[string]string{gymOn: " ", lensOn: "no", gym: "all"}, "", lensOn + " is false"},
		{map[string]string{gymOn: "YES", lensOn: "junk"}, "default", "no " + gym + " or " + lens + " is set, so default"},
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
		requireEnvironmentError(t, err)
		require.Contains(t, err.Error(), `"`+control.EnvGymEnabled+"="+text+`"`)
		require.Empty(t, b.Spec, "%q", text)
	}
	b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: "1", control.EnvLensSpanGroups: tooLong}))
	require.ErrorIs(t, err, spangate.ErrSpecTooLong)
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
	f := newFixture(t, control.StartupBaseline(b))
	require.Equal(t, "job,sandbox", f.on())
	require.Equal(t, control.EnvLensSpanGroups, f.State().Baseline.Why)
}

func TestTracesAndTheSDKCanBeSwitchedOffInTheEnvironment(t *testing.T) {
	const (
		on        = control.EnvGymEnabled
		gym, lens = control.EnvGymTracesEnabled, control.EnvLensTracesEnabled
		sdk       = control.EnvSDKDisabled
	)
	for _, c := range []struct {
		env  map[string]string
		spec string
		why  string
	}{
		{map[string]string{gym: "off"}, "", gym + " is false"},
		{map[string]string{lens: "0"}, "", lens + " is false"},
		{map[string]string{gym: "1", lens: "0"}, "default", " is set, so default"},
		{map[string]string{gym: "0", lens: "1"}, "", gym + " is false"},
		{map[string]string{gym: " ", lens: "No"}, "", lens + " is false"},
		{map[string]string{gym: "\t"}, "default", " is set, so default"},
		{map[string]string{gym: "0", on: "0"}, "", on + " is false"},
		{map[string]string{sdk: "true"}, "", sdk + " is true"},
		{map[string]string{sdk: " TrUe\n"}, "", sdk + " is true"},
		{map[string]string{sdk: "1"}, "default", " is set, so default"},
		{map[string]string{sdk: "yes"}, "default", " is set, so default"},
		{map[string]string{sdk: "false"}, "default", " is set, so default"},
		{map[string]string{sdk: "junk"}, "default", " is set, so default"},
		{map[string]string{sdk: ""}, "default", " is set, so default"},
		{map[string]string{sdk: "false", gym: "0"}, "", gym + " is false"},
	} {
		if _, set := c.env[on]; !set {
			c.env[on] = "1"
		}
		b, err := control.FromLookup(lookup(c.env))
		require.NoError(t, err, "%v", c.env)
		require.Equal(t, c.spec, b.Spec, "%v", c.env)
		require.Contains(t, b.Why, c.why, "%v", c.env)
	}
	// A value that is neither true nor false is an error, unless another variable wins over it.
	for _, name := range []string{on, gym, lens} {
		for _, other := range []string{on, sdk, gym} {
			env := map[string]string{other: "true", name: "junk"}
			b, err := control.FromLookup(lookup(env))
			if name == lens && other == gym {
				require.NoError(t, err, "the other wins")
				continue
			}
			requireEnvironmentError(t, err)
			require.ErrorContains(t, err, `"`+name+`=junk"`)
			require.Empty(t, b.Spec)
			require.Equal(t, name+" is neither true nor false", b.Why)
		}
	}
}

func TestPrefixesOfTheProgramWinInTheEnvironment(t *testing.T) {
	env := map[string]string{
		"MYAPP_OTEL_ENABLED": "1", "MYAPP_OTEL_SPAN_GROUPS": "job,query",
		"FALLBACK_SPAN_GROUPS":      "verify",
		control.EnvGymEnabled:       "0",
		control.EnvGymSpanGroups:    "sandbox",
		control.EnvLensSpanGroups:   "step",
		"OTHER_TRACES_ENABLED":      "0",
		control.EnvGymTracesEnabled: "1",
	}
	for _, c := range []struct {
		prefixes  []string
		spec, why string
	}{
		{nil, "", control.EnvGymEnabled + " is false"},
		{[]string{"MYAPP_OTEL"}, "job,query", "MYAPP_OTEL_SPAN_GROUPS"},
		{[]string{"NONE", "MYAPP_OTEL", "FALLBACK"}, "job,query", "MYAPP_OTEL_SPAN_GROUPS"},
		{[]string{"FALLBACK", "MYAPP_OTEL"}, "verify", "FALLBACK_SPAN_GROUPS"},
		{[]string{"OTHER", "MYAPP_OTEL"}, "", "OTHER_TRACES_ENABLED is false"},
		{[]string{"FALLBACK"}, "", control.EnvGymEnabled + " is false"},
		{[]string{"azAZ_09", strings.Repeat("X", 128)}, "", control.EnvGymEnabled + " is false"},
	} {
		b, err := control.FromLookup(lookup(env), c.prefixes...)
		require.NoError(t, err)
		require.Equal(t, c.spec, b.Spec, c.prefixes)
		require.Equal(t, c.why, b.Why)
		require.Equal(t, "environment", b.Who)
	}
	b, err := control.FromLookup(lookup(nil), "A", "B")
	require.NoError(t, err)
	require.Equal(t, "no A_ENABLED, B_ENABLED, "+control.EnvGymEnabled+" or "+control.EnvLensEnabled+" is set, so every span is off; set A_ENABLED=1", b.Why)

	many := make([]string, 100)
	for i := range many {
		many[i] = strings.Repeat("X", 128)
	}
	b, err = control.FromLookup(lookup(map[string]string{many[0] + "_SPAN_GROUPS": "all"}), many...)
	require.NoError(t, err)
	require.Contains(t, b.Why, "set "+many[0]+"_ENABLED=1")
	newFixture(t, control.StartupBaseline(b)) // its Why is not too long

	t.Setenv("MYAPP_OTEL_ENABLED", "yes")
	t.Setenv("MYAPP_OTEL_SPAN_GROUPS", "agent")
	b, err = control.FromEnv("MYAPP_OTEL")
	require.NoError(t, err)
	require.Equal(t, "agent", b.Spec)
}

func TestInvalidPrefixIsRefused(t *testing.T) {
	for prefix, problem := range map[string]string{
		"":                       "it is empty; give what comes before _ENABLED",
		"MYAPP_OTEL_":            "leave out the '_' at its end",
		"_":                      "leave out the '_' at its end",
		"0APP":                   "it begins with a digit",
		"9APP":                   "it begins with a digit",
		"MY APP":                 "' ' at byte 2; letters, digits and '_' are allowed",
		"MY-APP":                 "'-' at byte 2",
		"A=B":                    "'=' at byte 1",
		"Ä":                      "'Ä' at byte 0",
		"A\x00":                  "'\\x00' at byte 1",
		strings.Repeat("X", 129): "129 bytes; at most 128",
	} {
		b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: "1"}), "OK", prefix)
		requireEnvironmentError(t, err)
		require.ErrorContains(t, err, problem, "%q", prefix)
		require.Equal(t, control.Baseline{Who: "environment", AllowPending: true, Why: "a prefix of variables is wrong"}, b)
	}
}

func TestNilLookupHasNoVariable(t *testing.T) {
	b, err := control.FromLookup(nil)
	require.NoError(t, err)
	require.Equal(t, control.Baseline{Who: "environment", AllowPending: true,
		Why: "no " + control.EnvGymEnabled + " or " + control.EnvLensEnabled + " is set, so every span is off; set " + control.EnvGymEnabled + "=1"}, b)
}

func TestExclusionThatPythonReadsIsWarnedAbout(t *testing.T) {
	log := new(lockedBuffer)
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))

	var baselines []control.Baseline
	for _, c := range []struct{ name, spec, instead string }{
		{control.EnvGymSpanGroups, "default,-rollout", control.EnvGymSpanGroups + "=job,server,http_client"},
		{control.EnvLensSpanGroups, " -SANDBOX , per_rollout,query", control.EnvLensSpanGroups + "=server,http_client,rollout,verify,agent,model_call"},
		{control.EnvGymSpanGroups, "-rollout,default", control.EnvGymSpanGroups + "=job,server,http_client"},
		{control.EnvGymSpanGroups, "-all", control.EnvGymTracesEnabled + "=0"},
	} {
		b, err := control.FromLookup(lookup(map[string]string{control.EnvGymEnabled: "1", c.name: c.spec}))
		require.NoError(t, err)
		require.Equal(t, c.spec, b.Spec)
		require.Equal(t, c.name+"; nemo-lens refuses its exclusion, for Python set "+c.instead, b.Why)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		last := lines[len(lines)-1]
		require.Contains(t, last, "level=WARN")
		require.Contains(t, last, "variable="+c.name)
		require.Contains(t, last, `instead="`+c.instead+`"`)
		baselines = append(baselines, b)
	}
	require.Equal(t, 4, log.lines())

	for _, env := range []map[string]string{
		{control.EnvGymEnabled: "1", control.EnvGymSpanGroups: "default,late-name"},
		{control.EnvGymEnabled: "1", "MYAPP_SPAN_GROUPS": "all,-job"},
		{control.EnvGymEnabled: "0", control.EnvGymSpanGroups: "all,-job"},
	} {
		b, err := control.FromLookup(lookup(env), "MYAPP")
		require.NoError(t, err)
		require.NotContains(t, b.Why, "nemo-lens")
	}
	require.Equal(t, 4, log.lines(), log.String())
	for _, b := range baselines {
		newFixture(t, control.StartupBaseline(b)) // the reason is accepted
	}
}

func TestConfigHasTheDefaultsOfTheEnvironment(t *testing.T) {
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

func TestFlagReplacesTheBaseline(t *testing.T) {
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
	flags.PrintDefaults() // calls String on the zero value
	require.Contains(t, usage.String(), `(default default)`)
}

func TestFlagOfANilBaselineRefusesEveryValue(t *testing.T) {
	require.Empty(t, control.Flag(nil).String())
	require.ErrorContains(t, control.Flag(nil).Set("job"), "nil Baseline")
}

func TestFlagOfAControllerConfiguresIt(t *testing.T) {
	f := newFixture(t, control.StartupBaseline(baseline("job")))
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

func requireEnvironmentError(t *testing.T, err error) {
	t.Helper()
	var e *control.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Op, "environment")
}
