// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"errors"
	"flag"
	"strings"
)

// defaultSpec is what is on if spans are enabled and no spec is given.
const defaultSpec = "default"

// Config is the baseline in a configuration file:
//
//	spans:
//	  enabled: true
//	  span_groups: default,sandbox
//
// It decodes with encoding/json, YAML, mapstructure (viper) and koanf, under these names. A
// field that is absent, null or empty has its zero value. A value of another type is the
// decoder's to refuse: json, YAML, viper and koanf refuse a list for span_groups and a word that
// is no boolean for enabled.
//
// The zero value has everything off. A Config is a value and may be copied.
type Config struct {
	// Enabled must be true, or everything is off whatever SpanGroups says.
	Enabled bool `json:"enabled" yaml:"enabled" mapstructure:"enabled" koanf:"enabled"`
	// SpanGroups is the spec. A blank one is default, as in the environment; to have
	// nothing on, set Enabled to false or write -all.
	SpanGroups string `json:"span_groups" yaml:"span_groups" mapstructure:"span_groups" koanf:"span_groups"`
}

// Baseline returns the baseline that c describes, as [FromEnv] does for the environment. Its
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

// Flag returns a flag that replaces b by a baseline of the spec that it is given; the spec of b
// is its default. The package doc shows its use. A value that [Controller.Configure] would refuse is
// refused with the same error, and b is left as it was. With a nil b every value is refused.
func Flag(b *Baseline) flag.Value {
	return specFlag{
		get: func() string { return cmp.Or(b, &Baseline{}).Spec },
		set: func(set Baseline) error {
			if b == nil {
				return errors.New("spangate/control: Flag of a nil Baseline; pass a pointer to one")
			}
			err := checkText(set.Spec)
			if err == nil {
				*b = set
			}
			return err
		},
	}
}

// Flag returns a flag that passes its value to [Controller.Configure].
func (c *Controller) Flag() flag.Value {
	return specFlag{get: func() string { return c.State().Baseline.Spec }, set: c.Configure}
}

// specFlag is a flag whose value is a spec. Package flag calls String on the zero value too.
type specFlag struct {
	get func() string
	set func(Baseline) error
}

func (f specFlag) String() string {
	if f.get == nil {
		return ""
	}
	return f.get()
}

func (f specFlag) Set(spec string) error {
	return f.set(Baseline{Spec: strings.Clone(spec), AllowPending: true, Who: "flag"})
}
