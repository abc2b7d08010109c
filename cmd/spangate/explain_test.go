// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spangate/spangate"
)

// What the entries add, without what they take, is what is on; what each changes is told once.
func TestChangesOfTheEntriesAddUp(t *testing.T) {
	c := &catalog{spangate.Gym}
	var entries []string
	for _, n := range c.completions() {
		entries = append(entries, n.name, "-"+n.name, strings.ToUpper(n.name), " -"+n.name+" ", "")
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(entries), 0, 8).Draw(t, "entries"), ",")
		e, err := c.explain(text)
		require.NoError(t, err)
		var on, off spangate.Mask
		for _, entry := range e.Entries {
			change := spangate.MustParse(strings.Join(entry.Changes, ","))
			m, ok := c.Lookup(entry.Name)
			require.True(t, ok)
			assert.Equal(t, m.String(), entry.Mask)
			assert.True(t, m.HasAll(change))
			if entry.Exclude {
				assert.False(t, off.HasAny(change))
				off |= change
			} else {
				assert.False(t, on.HasAny(change))
				on |= change
			}
		}
		assert.True(t, on.HasAll(off), "what is taken was asked for")
		want := spangate.MustParse(text)
		assert.Equal(t, want, on&^off)
		assert.Equal(t, want.String(), e.Mask)
		assert.Equal(t, want, spangate.MustParse(e.Canonical))
		assert.Len(t, e.Groups, want.Count())
	})
}

func TestPythonSplitsAndGoDoesNot(t *testing.T) {
	c := &catalog{spangate.Gym}
	lot := spangate.MustParse("server,http_client,rollout,verify,agent,model_call,sandbox")
	for m := spangate.Mask(0); m <= spangate.PresetAll; m++ {
		got := c.traces("", m)
		across := m.HasAny(lot)
		split := across && !m.HasAll(spangate.CrossProcessSpine)
		if got.Go.Split || got.Python.Split != split {
			t.Fatalf("%v: %+v", m, got)
		}
		if split {
			_, better, _ := strings.Cut(got.Python.Note, "; whole with ")
			if whole := spangate.MustParse(better); whole != m|spangate.CrossProcessSpine {
				t.Fatalf("%v: %q", m, better)
			}
		}
	}
	for p := range spangate.Gym.Presets() {
		assert.False(t, c.traces(p.Name, p.Mask).Python.Split, p.Name)
	}
}

// Every name of a vocabulary is told as what it is: a single group that a preset had would
// not be.
func TestEveryNameIsToldAsWhatItIs(t *testing.T) {
	for _, known := range catalogs {
		c := &catalog{known}
		for p := range c.Presets() {
			assert.Equal(t, "preset", c.kind(p.Name))
		}
		for g := range c.Groups() {
			assert.Equal(t, "group", c.kind(g.Name))
		}
	}
}
