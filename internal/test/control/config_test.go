// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"encoding/json"
	"testing"

	kjson "github.com/knadh/koanf/parsers/json"
	kyaml "github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/viper"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/spangate/spangate/control"
)

// decoders decode the field spans of a configuration file in JSON, which is YAML too.
func decoders() map[string]func(text string, c *control.Config) error {
	type file struct {
		Spans *control.Config `json:"spans" yaml:"spans"`
	}
	withKoanf := func(parser koanf.Parser) func(string, *control.Config) error {
		return func(text string, c *control.Config) error {
			k := koanf.New(".")
			if err := k.Load(rawbytes.Provider([]byte(text)), parser); err != nil {
				return err
			}
			return k.Unmarshal("spans", c)
		}
	}
	withViper := func(kind string) func(string, *control.Config) error {
		return func(text string, c *control.Config) error {
			v := viper.New()
			v.SetConfigType(kind)
			if err := v.ReadConfig(bytes.NewBufferString(text)); err != nil {
				return err
			}
			return v.UnmarshalKey("spans", c)
		}
	}
	return map[string]func(string, *control.Config) error{
		"json":       func(text string, c *control.Config) error { return json.Unmarshal([]byte(text), &file{c}) },
		"yaml":       func(text string, c *control.Config) error { return yaml.Unmarshal([]byte(text), &file{c}) },
		"koanf json": withKoanf(kjson.Parser()),
		"koanf yaml": withKoanf(kyaml.Parser()),
		"viper json": withViper("json"),
		"viper yaml": withViper("yaml"),
	}
}

func TestConfigDecodes(t *testing.T) {
	for name, decode := range decoders() {
		for text, want := range map[string]control.Config{
			`{"spans": {"enabled": true, "span_groups": "job,sandbox"}}`:  {Enabled: true, SpanGroups: "job,sandbox"},
			`{"spans": {"enabled": false, "span_groups": "job,sandbox"}}`: {SpanGroups: "job,sandbox"},
			`{"spans": {"span_groups": "job"}}`:                           {SpanGroups: "job"},
			`{"spans": {"enabled": true}}`:                                {Enabled: true},
			`{"spans": {"enabled": true, "span_groups": ""}}`:             {Enabled: true},
			`{"spans": {"enabled": true, "span_groups": null}}`:           {Enabled: true},
			`{"spans": {"enabled": null, "span_groups": "job"}}`:          {SpanGroups: "job"},
			`{"spans": {}}`: {},
			`{}`:            {},
		} {
			var got control.Config
			require.NoError(t, decode(text, &got), "%s %s", name, text)
			require.Equal(t, want, got, "%s %s", name, text)
		}
	}
}

func TestConfigOfAnotherTypeIsRefused(t *testing.T) {
	for name, decode := range decoders() {
		for _, text := range []string{
			`{"spans": {"enabled": true, "span_groups": ["job", "sandbox"]}}`,
			`{"spans": {"enabled": true, "span_groups": {"job": true}}}`,
			`{"spans": {"enabled": "perhaps"}}`,
			`{"spans": {"enabled": [true]}}`,
			`{"spans": "job,sandbox"}`,
		} {
			var got control.Config
			require.Error(t, decode(text, &got), "%s %s gave %+v", name, text, got)
		}
	}
}

// TestConfigIsReadFromTheEnvironmentByViper pins that each field has the key that viper binds a
// variable to.
func TestConfigIsReadFromTheEnvironmentByViper(t *testing.T) {
	t.Setenv("MYAPP_SPANS_ENABLED", "true")
	t.Setenv("MYAPP_SPANS_SPAN_GROUPS", "job")
	v := viper.New()
	require.NoError(t, v.BindEnv("spans.enabled", "MYAPP_SPANS_ENABLED"))
	require.NoError(t, v.BindEnv("spans.span_groups", "MYAPP_SPANS_SPAN_GROUPS"))
	var file struct{ Spans control.Config }
	require.NoError(t, v.Unmarshal(&file))
	require.Equal(t, control.Config{Enabled: true, SpanGroups: "job"}, file.Spans)
}
