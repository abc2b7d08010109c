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

// No group is added twice or taken twice.
func TestAddedMinusTakenGroupsAreOn(t *testing.T) {
	c := spangate.Gym
	var entries []string
	for _, c := range catalogVocabulary(c).completions() {
		name, _, _ := strings.Cut(c, "\t")
		entries = append(entries, name, "-"+name, strings.ToUpper(name), " -"+name+" ", "")
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(entries), 0, 8).Draw(t, "entries"), ",")
		e, err := explain(c, text)
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
		assert.True(t, on.HasAll(off), "only what is selected is taken")
		want := spangate.MustParse(text)
		assert.Equal(t, want, on&^off)
		assert.Equal(t, want.String(), e.Mask)
		assert.Equal(t, want, spangate.MustParse(e.Canonical))
		assert.Len(t, e.Groups, want.Count())
	})
}

// Python's processes join each other's traces if the spans of client and server are on.
func TestPythonSplitsAndGoDoesNot(t *testing.T) {
	c := spangate.Gym
	across := spangate.MustParse("server,http_client,rollout,verify,agent,model_call,sandbox")
	joins := spangate.MustParse("server,http_client")
	for m := spangate.Mask(1); m <= spangate.PresetAll; m++ {
		got := traces{goTraces(m), pythonTraces(c, c.Format(m), m)}
		split := m.HasAny(across) && !m.HasAll(joins)
		if got.Go.Split || got.Python.Split != split || !got.Python.Accepted {
			t.Fatalf("%v: %+v", m, got)
		}
		if split {
			_, better, _ := strings.Cut(got.Python.Note, "; whole with ")
			if whole := spangate.MustParse(better); whole != m|joins {
				t.Fatalf("%v: %q", m, better)
			}
		}
	}
	for p := range spangate.Gym.Presets() {
		assert.False(t, pythonTraces(c, p.Name, p.Mask).Split, p.Name)
	}
}

// No span is above the driver's client span in a rollout's trace, nor above the server span in
// the agent.
func TestRootIsTheTopmostSpanThatIsOn(t *testing.T) {
	c := spangate.Gym
	for m := spangate.Mask(0); m <= spangate.PresetAll; m++ {
		want := ""
		for _, name := range []string{"job", "http_client", "server", "rollout"} {
			if g, _ := c.Lookup(name); m.HasAny(g) {
				want = name
				break
			}
		}
		if got := goTraces(m).Root; got != want {
			t.Fatalf("%v: %q, not %q", m, got, want)
		}
	}
}

func TestSpecForPythonHasTheSameGroupsAndNoExclusion(t *testing.T) {
	c := spangate.Gym
	for text, want := range map[string]string{
		"default":                "default",
		" All ,,STEP":            " All ,,STEP",
		"default,-job":           "server,http_client,rollout",
		"-job,default":           "server,http_client,rollout",
		"job, -STEP":             "job",
		"all,-rollout,-rollout ": "job,checkpoint,evaluate,model_init,load_checkpoint,step,forward_backward,optimizer,server,http_client,verify,agent,model_call,sandbox",
		"-all":                   "",
		"":                       "",
		" ":                      "",
		",":                      "",
	} {
		e, err := explain(c, text)
		require.NoError(t, err)
		python := e.Traces.Python
		assert.Equal(t, want, python.Spec, "%q", text)
		assert.Equal(t, !strings.Contains(text, "-"), python.Accepted, "%q", text)
		assert.Equal(t, strings.Contains(text, "-"), strings.HasPrefix(python.Note, "rejected: "), "%q", text)
		if python.Spec != "" {
			m, err := c.Parse(python.Spec)
			require.NoError(t, err)
			assert.Equal(t, e.Mask, m.String(), "%q", text)
		}
	}
}

func TestKindOfEveryName(t *testing.T) {
	for _, known := range []*spangate.Catalog{spangate.Gym, spangate.Lens} {
		c := known
		kinds := make(map[string]string)
		for p := range c.Presets() {
			kinds[p.Name] = "preset"
		}
		for g := range c.Groups() {
			kinds[g.Name] = "group"
		}
		for name, kind := range kinds {
			e, err := explain(c, name)
			require.NoError(t, err)
			assert.Equal(t, kind, e.Entries[0].Kind, name)
		}
	}
}
