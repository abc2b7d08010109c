// SPDX-License-Identifier: Apache-2.0

package control

import "cmp"

// Config is the baseline as a configuration file has it:
//
//	spans:
//	  enabled: true
//	  span_groups: default,sandbox
//
// It decodes with encoding/json, YAML, mapstructure (viper) and koanf, under these names. A
// field that is absent, null or empty has its zero value: nothing is on unless enabled is
// true, and span_groups is then default. A value of another type is the decoder's to refuse:
// json, YAML, viper and koanf refuse a list for span_groups and a word that is no boolean for
// enabled.
//
// The zero value has everything off. A Config is a value and may be copied.
type Config struct {
	// Enabled must be true, or everything is off whatever SpanGroups says.
	Enabled bool `json:"enabled" yaml:"enabled" mapstructure:"enabled" koanf:"enabled"`
	// SpanGroups is the spec. A blank one is default, as in the environment; to have
	// nothing on, set Enabled to false or write -all.
	SpanGroups string `json:"span_groups" yaml:"span_groups" mapstructure:"span_groups" koanf:"span_groups"`
}

// Baseline returns the baseline that c asks for, as [FromEnv] does for the environment. Its
// Who is "configuration". It does not check the spec: [New] and [Controller.Configure] do,
// and refuse one with text that can't be a name, with [ErrSpec].
func (c Config) Baseline() Baseline {
	b := Baseline{Who: "configuration", AllowPending: true}
	if !c.Enabled {
		b.Why = "spans are not enabled"
		return b
	}
	b.Spec = cmp.Or(nonBlank(c.SpanGroups), defaultSpec)
	return b
}

// defaultSpec is what is on if spans are enabled and no spec is given.
const defaultSpec = "default"
