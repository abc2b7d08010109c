// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// The variables that [FromEnv] reads. Of those that say the same, the first that is not blank
// wins.
const (
	EnvGymEnabled        = "NEMO_GYM_OTEL_ENABLED"
	EnvLensEnabled       = "NEMO_LENS_ENABLED"
	EnvGymTracesEnabled  = "NEMO_GYM_OTEL_TRACES_ENABLED"
	EnvLensTracesEnabled = "NEMO_LENS_TRACES_ENABLED"
	EnvGymSpanGroups     = "NEMO_GYM_OTEL_SPAN_GROUPS"
	EnvLensSpanGroups    = "NEMO_LENS_SPAN_GROUPS"
	EnvSDKDisabled       = "OTEL_SDK_DISABLED"
)

// maxPrefixLen is the length in bytes of the longest prefix that [FromEnv] takes.
const maxPrefixLen = 128

// FromEnv returns the baseline that the environment asks for:
//
//	OTEL_SDK_DISABLED                                                 must not be true, or everything is off
//	NEMO_GYM_OTEL_ENABLED, else NEMO_LENS_ENABLED                     must be true, or everything is off
//	NEMO_GYM_OTEL_TRACES_ENABLED, else NEMO_LENS_TRACES_ENABLED       must not be false, or everything is off
//	NEMO_GYM_OTEL_SPAN_GROUPS, else NEMO_LENS_SPAN_GROUPS             the spec, else default
//
// A program may have variables of its own, which win over these: FromEnv("MYAPP_OTEL") reads
// MYAPP_OTEL_ENABLED before NEMO_GYM_OTEL_ENABLED, and so on. Of several prefixes the first
// wins. A prefix has ASCII letters, digits and '_', begins with no digit and ends with no '_',
// and has at most 128 bytes.
//
// True is 1, true, yes or on, false is 0, false, no or off, in any case; anything else is an
// error, whatever the other variables say. OTEL_SDK_DISABLED is read as OpenTelemetry's
// specification has it: true, in any case, is true, and anything else is false and no error. A
// variable that is blank counts as one that is not set. The first that is not blank wins,
// whether or not the names in it are registered. To have nothing on although spans are enabled,
// write -all.
//
// The baseline's Who is "environment", and its Why says which variable decided. nemo-lens
// refuses a spec with an exclusion (-sandbox), and a Python process with such a spec emits
// nothing. So if one stands in a variable that Python reads too, Why says what to write there
// instead, as does a record of level WARN to [slog.Default].
//
// The error is an [*Error] for [ErrEnvironment], and for [ErrSpec] too if the spec has text
// that can't be a name; the baseline then has everything off. The environment is read once and
// never written.
func FromEnv(prefixes ...string) (Baseline, error) { return FromLookup(os.LookupEnv, prefixes...) }

// FromLookup is [FromEnv] for variables that lookup knows, as [os.LookupEnv] does. A nil
// lookup knows none.
func FromLookup(lookup func(name string) (value string, ok bool), prefixes ...string) (Baseline, error) {
	b, err := environment{lookup, slices.Concat(prefixes, pythonPrefixes)}.baseline()
	b.Who, b.AllowPending = "environment", true
	return b, err
}

// pythonPrefixes begin the variables that NeMo Gym's Python processes read.
var pythonPrefixes = []string{"NEMO_GYM_OTEL", "NEMO_LENS"}

// environment is the variables that FromLookup reads: those of the first prefix win.
type environment struct {
	lookup   func(name string) (value string, ok bool)
	prefixes []string
}

// baseline returns the baseline without its Who and AllowPending, which the caller sets.
func (e environment) baseline() (Baseline, error) {
	for _, prefix := range e.prefixes {
		if problem := prefixProblem(prefix); problem != "" {
			return Baseline{Why: "a prefix of variables is wrong"},
				&Error{Op: "environment prefix", Input: prefix, Err: because(ErrEnvironment, "%s", problem)}
		}
	}
	enabledName, enabled, err := e.truth("_ENABLED")
	if err != nil {
		return Baseline{Why: enabledName + " is neither true nor false"}, err
	}
	tracesName, traces, err := e.truth("_TRACES_ENABLED")
	if err != nil {
		return Baseline{Why: tracesName + " is neither true nor false"}, err
	}
	switch {
	case strings.EqualFold(spec.Trim(e.get(EnvSDKDisabled)), "true"):
		return Baseline{Why: EnvSDKDisabled + " is true"}, nil
	case enabledName == "":
		return Baseline{Why: e.unset("_ENABLED")}, nil
	case !enabled:
		return Baseline{Why: enabledName + " is false"}, nil
	case tracesName != "" && !traces:
		return Baseline{Why: tracesName + " is false"}, nil
	}
	return e.spec()
}

// spec returns the baseline of the variable that holds the spec.
func (e environment) spec() (Baseline, error) {
	name, value := e.first("_SPAN_GROUPS")
	if name == "" {
		return Baseline{Spec: defaultSpec, Why: e.unset("_SPAN_GROUPS")}, nil
	}
	fail := func(why string, err error) (Baseline, error) {
		return Baseline{Why: name + " " + why}, &Error{Op: "environment", Input: name + "=" + value, Err: err}
	}
	if len(value) > spangate.MaxSpecLen {
		return fail("is too long", because(ErrEnvironment, "%d bytes; at most %d are read", len(value), spangate.MaxSpecLen))
	}
	if err := specProblem(value); err != nil {
		return fail("is not a spec", because(ErrEnvironment, "%w", err))
	}
	b := Baseline{Spec: value, Why: name}
	if name == EnvGymSpanGroups || name == EnvLensSpanGroups {
		b.Why += warnPython(name, value)
	}
	return b, nil
}

// warnPython logs what to set for Python instead if value, the spec in the variable name, has an
// exclusion, which Python refuses. It returns the same as text to add to a reason, or "" if
// there is no exclusion.
func warnPython(name, value string) string {
	excludes := false
	for entry := range spec.Entries(value) {
		excludes = excludes || entry.Exclude
	}
	if !excludes {
		return ""
	}
	m, _ := spangate.Gym.Resolve(value)
	instead := name + "=" + spangate.Gym.Format(m)
	if m == 0 { // a blank spec would be default there
		instead = EnvGymTracesEnabled + "=0"
	}
	slog.Warn("spangate: nemo-lens refuses a spec with an exclusion: a Python process that reads this one emits nothing",
		slog.String("variable", name), slog.String("spec", spec.Head(value)), slog.String("instead", instead))
	return "; nemo-lens refuses its exclusion, for Python set " + instead
}

// truth returns the first variable of this kind that is not blank, and whether it is true.
// The name is empty if there is none.
func (e environment) truth(suffix string) (name string, value bool, err error) {
	name, text := e.first(suffix)
	if name == "" {
		return "", false, nil
	}
	value, ok := truth(text)
	if !ok {
		err = &Error{Op: "environment", Input: name + "=" + text,
			Err: because(ErrEnvironment, "write 1, true, yes or on, or else 0, false, no or off")}
	}
	return name, value, err
}

// truth reads a truth value as people write it, and reports whether it is one.
func truth(text string) (value, ok bool) {
	switch strings.ToLower(spec.Trim(text)) {
	case "1", "true", "yes", "on":
		return true, true
	case "0", "false", "no", "off":
		return false, true
	}
	return false, false
}

// first returns the first variable of this kind that is not blank, and its value.
func (e environment) first(suffix string) (name, value string) {
	for _, prefix := range e.prefixes {
		if value := e.get(prefix + suffix); value != "" {
			return prefix + suffix, value
		}
	}
	return "", ""
}

// get returns the value of a variable, or "" if it is blank or not set.
func (e environment) get(name string) string {
	if e.lookup == nil {
		return ""
	}
	value, _ := e.lookup(name)
	return nonBlank(value)
}

// unset says that no variable of this kind is set.
func (e environment) unset(suffix string) string {
	last := len(e.prefixes) - 1
	return spec.Head("neither " + strings.Join(e.prefixes[:last], suffix+", ") + suffix + " nor " + e.prefixes[last] + suffix + " is set")
}

// prefixProblem returns why prefix can't begin the name of a variable, or "".
func prefixProblem(prefix string) string {
	switch {
	case prefix == "":
		return "it is empty; give what comes before _ENABLED, as in MYAPP_OTEL"
	case len(prefix) > maxPrefixLen:
		return fmt.Sprintf("%d bytes; at most %d", len(prefix), maxPrefixLen)
	case '0' <= prefix[0] && prefix[0] <= '9':
		return "it begins with a digit"
	case strings.HasSuffix(prefix, "_"):
		return "leave out the '_' at its end; FromEnv adds it"
	}
	for i, r := range prefix {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_') {
			return fmt.Sprintf("%q at byte %d; letters, digits and '_' are allowed", r, i)
		}
	}
	return ""
}
