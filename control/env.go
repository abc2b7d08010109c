// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// The variables that [FromEnv] reads.
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

// FromEnv reads the baseline from the environment:
//
//	OTEL_SDK_DISABLED                                             must not be true, or everything is off
//	NEMO_GYM_OTEL_ENABLED, else NEMO_LENS_ENABLED                 must be true, or everything is off
//	NEMO_GYM_OTEL_TRACES_ENABLED, else NEMO_LENS_TRACES_ENABLED   must not be false, or everything is off
//	NEMO_GYM_OTEL_SPAN_GROUPS, else NEMO_LENS_SPAN_GROUPS         the spec, else default
//
// A program may have variables of its own, which win over these: FromEnv("MYAPP_OTEL") reads
// MYAPP_OTEL_ENABLED before NEMO_GYM_OTEL_ENABLED, and so on. Of several prefixes the first
// wins. A prefix has ASCII letters, digits and '_', begins with no digit and ends with no '_',
// and has at most 128 bytes.
//
// True is 1, true, yes or on, false is 0, false, no or off, in any case; anything else in a
// variable that wins is an error, even if another variable has everything off. OTEL_SDK_DISABLED
// is read as OpenTelemetry specifies: true, in any case, is true, and anything else is false and
// no error. A blank variable counts as unset. The first that is not blank wins, whether or not
// the names in it are registered. To have nothing on although spans are enabled, write -all.
//
// The baseline's Who is "environment", and its Why names the variable that decided. While no
// …_ENABLED is set, everything is off, a spec is ignored, and Why says what to set. A Python process
// whose spec has an exclusion (-sandbox) emits nothing, since nemo-lens refuses it. So if a
// variable that Python reads too has one, Why and a record of level WARN to [slog.Default] say what
// to write there instead.
//
// The error is an [*Error] with the variable as its Input; it unwraps to [ErrSpec] if the spec
// has text that can't be a name. The baseline then has everything off. The environment is read
// once and never written.
func FromEnv(prefixes ...string) (Baseline, error) { return FromLookup(os.LookupEnv, prefixes...) }

// FromLookup is [FromEnv] with another source of variables: lookup returns the value of a
// variable and whether it is set, as [os.LookupEnv] does. With a nil lookup none is set.
func FromLookup(lookup func(name string) (value string, ok bool), prefixes ...string) (Baseline, error) {
	b, err := environment{lookup, slices.Concat(prefixes, pythonPrefixes)}.baseline()
	b.Who, b.AllowPending = "environment", true
	return b, err
}

// pythonPrefixes begin the variables that NeMo Gym's Python processes read.
var pythonPrefixes = []string{"NEMO_GYM_OTEL", "NEMO_LENS"}

// environment reads the variables of FromLookup. Those of the first prefix win.
type environment struct {
	lookup   func(name string) (value string, ok bool)
	prefixes []string
}

// variable is a variable that is set and not blank. The zero value stands for none.
type variable struct{ name, value string }

// baseline returns the baseline without its Who and AllowPending, which the caller sets.
func (e environment) baseline() (Baseline, error) {
	for _, prefix := range e.prefixes {
		if problem := prefixProblem(prefix); problem != "" {
			return Baseline{Why: "a prefix of variables is wrong"}, &Error{Op: "environment prefix", Input: prefix, Err: errors.New(problem)}
		}
	}
	enabled, traces, spans := e.first("_ENABLED"), e.first("_TRACES_ENABLED"), e.first("_SPAN_GROUPS")
	for _, v := range []variable{enabled, traces} {
		if _, ok := parseBool(v.value); v.name != "" && !ok {
			return v.refuse("is neither true nor false", errors.New("write 1, true, yes or on, or else 0, false, no or off"))
		}
	}
	switch {
	case strings.EqualFold(spec.Trim(e.get(EnvSDKDisabled)), "true"):
		return Baseline{Why: EnvSDKDisabled + " is true"}, nil
	case enabled.name == "":
		return Baseline{Why: e.unset("_ENABLED") + "every span is off" + e.enable(spans)}, nil
	case enabled.isFalse():
		return Baseline{Why: enabled.name + " is false"}, nil
	case traces.isFalse():
		return Baseline{Why: traces.name + " is false"}, nil
	case spans.name == "":
		return Baseline{Spec: defaultSpec, Why: e.unset("_SPAN_GROUPS") + defaultSpec}, nil
	}
	if err := cmp.Or(spec.CheckLen(spans.value), specProblem(spans.value)); err != nil {
		return spans.refuse("is not a spec", err)
	}
	return Baseline{Spec: spans.value, Why: spans.name + spans.warnPython()}, nil
}

// get returns the value of a variable, or "" if it is blank or not set.
func (e environment) get(name string) string {
	if e.lookup == nil {
		return ""
	}
	value, _ := e.lookup(name)
	return nonBlank(value)
}

// first returns the first variable with this suffix that is not blank.
func (e environment) first(suffix string) variable {
	for _, prefix := range e.prefixes {
		if value := e.get(prefix + suffix); value != "" {
			return variable{prefix + suffix, value}
		}
	}
	return variable{}
}

// unset says that no variable with this suffix is set; what follows from that is to be appended.
func (e environment) unset(suffix string) string {
	last := len(e.prefixes) - 1
	return spec.Head("no "+strings.Join(e.prefixes[:last], suffix+", ")+suffix+" or "+e.prefixes[last]+suffix) + " is set, so "
}

// enable says which variable to set, and that spans is ignored unless it is zero.
func (e environment) enable(spans variable) string {
	if spans.name == "" {
		return "; set " + e.prefixes[0] + "_ENABLED=1"
	}
	return " and " + spans.name + " is ignored; set " + strings.TrimSuffix(spans.name, "_SPAN_GROUPS") + "_ENABLED=1"
}

// refuse returns an error for v, and a baseline with everything off that says why.
func (v variable) refuse(why string, err error) (Baseline, error) {
	return Baseline{Why: v.name + " " + why}, &Error{Op: "environment", Input: v.name + "=" + v.value, Err: err}
}

func (v variable) isFalse() bool {
	value, ok := parseBool(v.value)
	return ok && !value
}

// warnPython logs what to set for Python instead if v is a variable that Python reads and its
// spec has an exclusion, which Python refuses. It returns the same as a suffix for a
// reason, or "".
func (v variable) warnPython() string {
	excludes := false
	for entry := range spec.Entries(v.value) {
		excludes = excludes || entry.Exclude
	}
	if !excludes || v.name != EnvGymSpanGroups && v.name != EnvLensSpanGroups {
		return ""
	}
	m, _ := spangate.Gym.Resolve(v.value)
	instead := v.name + "=" + spangate.Gym.Format(m)
	if m == 0 { // a blank spec would be default there
		instead = EnvGymTracesEnabled + "=0"
	}
	slog.Warn("spangate: nemo-lens refuses a spec with an exclusion: a Python process that reads this one emits nothing",
		slog.String("variable", v.name), slog.String("spec", spec.Head(v.value)), slog.String("instead", instead))
	return "; nemo-lens refuses its exclusion, for Python set " + instead
}

var boolWords = map[string]bool{"1": true, "true": true, "yes": true, "on": true, "0": false, "false": false, "no": false, "off": false}

// parseBool parses one of boolWords, and reports whether text is one.
func parseBool(text string) (value, ok bool) {
	value, ok = boolWords[strings.ToLower(spec.Trim(text))]
	return value, ok
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
