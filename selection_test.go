// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/spangate/spangate"
)

func TestSelectionZeroValueIsTheEmptySetOfGym(t *testing.T) {
	var s spangate.Selection
	assert.Equal(t, "", s.String())
	text, err := s.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, []byte{}, text)
	require.NoError(t, s.Set("default"))
	assert.Equal(t, spangate.Selection{Mask: spangate.PresetDefault}, s)
}

func TestSelectionRoundTripsThroughTextJSONAndYAML(t *testing.T) {
	type config struct {
		Spans spangate.Selection `json:"spans" yaml:"spans"`
	}
	for _, c := range []*spangate.Catalog{nil, spangate.Gym, spangate.Lens, catalogOf(t, 8)} {
		for m := range spangate.Mask(256) {
			in := config{spangate.Selection{Catalog: c, Mask: m}}

			text, err := in.Spans.MarshalText()
			require.NoError(t, err)
			out := spangate.Selection{Catalog: c}
			require.NoError(t, out.UnmarshalText(text))
			require.Equal(t, in.Spans, out)

			fromJSON := config{spangate.Selection{Catalog: c}}
			doc, err := json.Marshal(in)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(doc, &fromJSON))
			require.Equal(t, in, fromJSON)

			fromYAML := config{spangate.Selection{Catalog: c}}
			doc, err = yaml.Marshal(in)
			require.NoError(t, err)
			require.NoError(t, yaml.Unmarshal(doc, &fromYAML))
			require.Equal(t, in, fromYAML)
		}
	}
}

func TestSelectionWorksAsAFlagValue(t *testing.T) {
	for _, define := range map[string]func(*flag.FlagSet, *spangate.Selection){
		"Var":     func(f *flag.FlagSet, s *spangate.Selection) { f.Var(s, "spans", "") },
		"TextVar": func(f *flag.FlagSet, s *spangate.Selection) { f.TextVar(s, "spans", *s, "") },
	} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		catalog := catalogOf(t, 64)
		s := catalog.Select(1)
		define(flags, &s)
		assert.Equal(t, "g0", flags.Lookup("spans").DefValue)

		require.NoError(t, flags.Parse([]string{"-spans", "g63,G1"}))
		assert.Equal(t, catalog.Select(1<<63|2), s)

		assert.ErrorContains(t, flags.Parse([]string{"-spans", "g64"}), `unknown name "g64" at byte 0 (did you mean "g4"?)`)
		assert.Equal(t, catalog.Select(1<<63|2), s, "a bad spec changes nothing")
	}
}

func TestSelectionThatFailsToDecodeIsUnchanged(t *testing.T) {
	before := spangate.Lens.Select(spangate.BitStep)
	for _, bad := range []string{"nope", "job,nope", "-nope", "server", string(make([]byte, spangate.MaxSpecLen+1))} {
		s := before
		assert.Error(t, s.Set(bad))
		assert.Equal(t, before, s)
		assert.Error(t, s.UnmarshalText([]byte(bad)))
		assert.Equal(t, before, s)
		doc, err := json.Marshal(bad)
		require.NoError(t, err)
		assert.Error(t, json.Unmarshal(doc, &s))
		assert.Equal(t, before, s)
	}
	s := before
	assert.Error(t, json.Unmarshal([]byte("1793"), &s), "a mask is not a spec")
	assert.Equal(t, before, s)
}

func TestSelectionWithABitWithoutANameDoesNotMarshal(t *testing.T) {
	//spangate:ignore othercatalog the case is a bit that the catalog lacks
	s := spangate.Lens.Select(spangate.BitJob | spangate.BitServer)
	_, err := s.MarshalText()
	assert.ErrorIs(t, err, spangate.ErrUnnamedBit)
	assert.ErrorContains(t, err, "nemo_lens has no group for 0x100 of 0x101")
	b, err := s.AppendText([]byte("kept"))
	assert.Error(t, err)
	assert.Equal(t, "kept", string(b))
	_, err = json.Marshal(s)
	assert.ErrorIs(t, err, spangate.ErrUnnamedBit)
	assert.Equal(t, "job,0x100", s.String(), "String still shows it")
}

func TestSelectionAppendsToTheBuffer(t *testing.T) {
	b, err := spangate.Gym.Select(spangate.BitJob | spangate.BitStep).AppendText([]byte("spans="))
	require.NoError(t, err)
	assert.Equal(t, "spans=job,step", string(b))
}

func TestSelectionLogsItsNames(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("spans", "on", spangate.Gym.Select(spangate.PresetDefault))
	assert.Contains(t, out.String(), "on=job,server,http_client,rollout\n")
}
