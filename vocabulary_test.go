// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// Positions are public API: this table changes by appending only.
var positions = []struct {
	name string
	bit  spangate.Mask
	at   int
}{
	{"job", spangate.BitJob, 0},
	{"checkpoint", spangate.BitCheckpoint, 1},
	{"evaluate", spangate.BitEvaluate, 2},
	{"model_init", spangate.BitModelInit, 3},
	{"load_checkpoint", spangate.BitLoadCheckpoint, 4},
	{"step", spangate.BitStep, 5},
	{"forward_backward", spangate.BitForwardBackward, 6},
	{"optimizer", spangate.BitOptimizer, 7},
	{"server", spangate.BitServer, 8},
	{"http_client", spangate.BitHTTPClient, 9},
	{"rollout", spangate.BitRollout, 10},
	{"verify", spangate.BitVerify, 11},
	{"agent", spangate.BitAgent, 12},
	{"model_call", spangate.BitModelCall, 13},
	{"sandbox", spangate.BitSandbox, 14},
}

func TestGroupsKeepTheirPositions(t *testing.T) {
	groups := slices.Collect(spangate.Gym.Groups())
	require.Len(t, groups, len(positions))
	for i, p := range positions {
		assert.Equal(t, spangate.Mask(1)<<p.at, p.bit, p.name)
		assert.Equal(t, p.name, groups[i].Name)
		assert.Equal(t, p.bit, groups[i].Bit, p.name)
		assert.NotEmpty(t, groups[i].Doc, p.name)
	}
	assert.Equal(t, groups[:8], slices.Collect(spangate.Lens.Groups()), "Lens is the first eight")
}

// Programs compile these in and store masks.
func TestConstantsKeepTheirValues(t *testing.T) {
	assert.Equal(t, 64, spangate.MaxGroups)
	assert.Equal(t, 63, spangate.MaxNameLen)
	assert.Equal(t, 65_536, spangate.MaxSpecLen)
	assert.Equal(t, "all", spangate.NameAll)
	assert.EqualValues(t, 0x0700, spangate.CrossProcessSpine)
	assert.EqualValues(t, 0x0701, spangate.PresetDefault)
	assert.EqualValues(t, 0x3f00, spangate.PresetPerRollout)
	assert.EqualValues(t, 0x7fff, spangate.PresetAll)
	assert.EqualValues(t, 0x0007, spangate.LensPresetDefault)
	assert.EqualValues(t, 0x00ff, spangate.LensPresetPerStep)
	assert.EqualValues(t, 0x00ff, spangate.LensPresetAll)
}

func TestSpineIsServerHTTPClientAndRollout(t *testing.T) {
	assert.Equal(t, spangate.BitServer|spangate.BitHTTPClient|spangate.BitRollout, spangate.CrossProcessSpine)
}

func TestPresetsHaveTheirGroups(t *testing.T) {
	for _, tt := range []struct {
		catalog *spangate.Catalog
		preset  string
		mask    spangate.Mask // the constant
		groups  string
	}{
		{spangate.Gym, "default", spangate.PresetDefault, "job,server,http_client,rollout"},
		{spangate.Gym, "per_rollout", spangate.PresetPerRollout, "server,http_client,rollout,verify,agent,model_call"},
		{spangate.Gym, "all", spangate.PresetAll, "job,checkpoint,evaluate,model_init,load_checkpoint,step,forward_backward,optimizer,server,http_client,rollout,verify,agent,model_call,sandbox"},
		{spangate.Lens, "default", spangate.LensPresetDefault, "job,checkpoint,evaluate"},
		{spangate.Lens, "per_step", spangate.LensPresetPerStep, "job,checkpoint,evaluate,model_init,load_checkpoint,step,forward_backward,optimizer"},
		{spangate.Lens, "all", spangate.LensPresetAll, "job,checkpoint,evaluate,model_init,load_checkpoint,step,forward_backward,optimizer"},
	} {
		name := tt.catalog.Namespace() + " " + tt.preset
		m, err := tt.catalog.Parse(tt.preset)
		require.NoError(t, err, name)
		assert.Equal(t, tt.mask, m, name)
		assert.Equal(t, tt.groups, tt.catalog.Format(m), name)
	}
	assert.Equal(t, []string{"default", "per_rollout", "all"}, presetNames(spangate.Gym))
	assert.Equal(t, []string{"default", "per_step", "all"}, presetNames(spangate.Lens))
}

func presetNames(c *spangate.Catalog) (names []string) {
	for p := range c.Presets() {
		names = append(names, p.Name)
	}
	return names
}

func TestEveryGymPresetHoldsTheSpine(t *testing.T) {
	for p := range spangate.Gym.Presets() {
		assert.NotEmpty(t, p.Doc, p.Name)
		assert.True(t, p.Mask.HasAll(spangate.CrossProcessSpine), p.Name)
	}
}

func TestAllIsEveryGroup(t *testing.T) {
	assert.Equal(t, spangate.PresetAll, spangate.Gym.All())
	assert.Equal(t, 15, spangate.Gym.All().Count())
	assert.Equal(t, spangate.LensPresetAll, spangate.Lens.All())
	assert.Equal(t, 8, spangate.Lens.All().Count())
}

func TestPerRolloutLeavesOutJob(t *testing.T) {
	assert.False(t, spangate.PresetPerRollout.HasAny(spangate.BitJob))
	assert.Equal(t, spangate.BitVerify|spangate.BitAgent|spangate.BitModelCall, spangate.PresetPerRollout.Without(spangate.CrossProcessSpine))
}

func TestGroupsOfLensResolveInGym(t *testing.T) {
	for g := range spangate.Lens.Groups() {
		m, err := spangate.Parse(g.Name)
		require.NoError(t, err)
		assert.Equal(t, g.Bit, m)
	}
}

func TestNamesThatGymDeliberatelyLacks(t *testing.T) {
	for _, name := range []string{"tool_call", "dataset", "per_step"} {
		_, err := spangate.Parse(name)
		assert.ErrorIs(t, err, spangate.ErrUnknownName, name)
	}
}

func TestTypoGetsASuggestionAndTheValidNames(t *testing.T) {
	m, err := spangate.Parse("rollouts")
	assert.Zero(t, m)
	var e *spangate.ParseError
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, spangate.ErrUnknownName)
	assert.Equal(t, []spangate.UnknownName{{Name: "rollouts", Offset: 0, Suggestion: "rollout"}}, e.Unknown)
	for _, name := range []string{"model_call", "per_rollout", "sandbox"} {
		assert.Contains(t, e.Valid, name)
		assert.Contains(t, err.Error(), name)
	}
}
