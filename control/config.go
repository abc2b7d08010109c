// SPDX-License-Identifier: Apache-2.0

package control

import "cmp"

// Config is the baseline as a configuration file has it:
//
//	spans:
//	  enabled: true
//	  span_groups: default,sandbox
//
// The zero value has everything off. A Config is a value and may be copied.
type Config struct {
	// Enabled must be true, or everything is off whatever SpanGroups says.
	Enabled bool `json:"enabled" yaml:"enabled"`
	// SpanGroups is the spec. A blank one is default, as in the environment; to have
	// nothing on, set Enabled to false or write -all.
	SpanGroups string `json:"span_groups" yaml:"span_groups"`
}

// Baseline returns the baseline that c asks for, as [FromEnv] does for the environment. Its
// Who is "configuration".
func (c Config) Baseline() Baseline {
	b := Baseline{Who: "configuration", AllowPending: true}
	if !c.Enabled {
		b.Why = "spans are not enabled"
		return b
	}
	b.Spec = cmp.Or(nonBlank(c.SpanGroups), defaultSpec)
	return b
}

// defaultSpec is what is on if spans are enabled and nobody says which.
const defaultSpec = "default"
