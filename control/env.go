// SPDX-License-Identifier: Apache-2.0

package control

import (
	"os"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// The variables that [FromEnv] reads. Of each pair the first that is not blank wins.
const (
	EnvGymEnabled     = "NEMO_GYM_OTEL_ENABLED"
	EnvLensEnabled    = "NEMO_LENS_ENABLED"
	EnvGymSpanGroups  = "NEMO_GYM_OTEL_SPAN_GROUPS"
	EnvLensSpanGroups = "NEMO_LENS_SPAN_GROUPS"
)

// FromEnv returns the baseline that the environment asks for:
//
//	NEMO_GYM_OTEL_ENABLED, else NEMO_LENS_ENABLED             must be true, or everything is off
//	NEMO_GYM_OTEL_SPAN_GROUPS, else NEMO_LENS_SPAN_GROUPS     the spec, else default
//
// True is 1, true, yes or on, false is 0, false, no or off, in any case; anything else is an
// error. A variable that is blank counts as one that is not set. The first that is not blank
// wins, whether or not anybody has registered the names in it. To have nothing on although
// spans are enabled, write -all.
//
// The baseline's Why says which variable decided. The error is an [*Error] for
// [ErrEnvironment], and the baseline then has everything off. The environment is read once
// and never written.
func FromEnv() (Baseline, error) { return FromLookup(os.LookupEnv) }

// FromLookup is [FromEnv] for variables that lookup knows, as [os.LookupEnv] does.
func FromLookup(lookup func(name string) (value string, ok bool)) (Baseline, error) {
	off := func(why string) Baseline {
		return Baseline{Who: "environment", Why: why, AllowPending: true}
	}
	name, value := firstSet(lookup, EnvGymEnabled, EnvLensEnabled)
	if name == "" {
		return off("neither " + EnvGymEnabled + " nor " + EnvLensEnabled + " is set"), nil
	}
	enabled, ok := truth(value)
	if !ok {
		err := &Error{Op: "environment", Input: name + "=" + value, Err: because(ErrEnvironment, "1, true, yes or on, or else 0, false, no or off")}
		return off(name + " is neither true nor false"), err
	}
	if !enabled {
		return off(name + " is false"), nil
	}

	b := off("neither " + EnvGymSpanGroups + " nor " + EnvLensSpanGroups + " is set")
	b.Spec = defaultSpec
	if name, value := firstSet(lookup, EnvGymSpanGroups, EnvLensSpanGroups); name != "" {
		if len(value) > spangate.MaxSpecLen {
			err := &Error{Op: "environment", Input: name + "=" + value, Err: because(ErrEnvironment, "%d bytes; at most %d are read", len(value), spangate.MaxSpecLen)}
			return off(name + " is too long"), err
		}
		b.Spec, b.Why = value, name
	}
	return b, nil
}

// firstSet returns the first of names that is not blank, and its value.
func firstSet(lookup func(string) (string, bool), names ...string) (name, value string) {
	for _, name := range names {
		if value, _ := lookup(name); nonBlank(value) != "" {
			return name, value
		}
	}
	return "", ""
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
