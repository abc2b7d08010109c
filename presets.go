// SPDX-License-Identifier: Apache-2.0

package spangate

// Preset is a named mask of one catalog.
type Preset struct {
	// Name is what a spec calls the preset; it obeys the same rule as a [Group]'s name
	// and is not one of them. [NameAll] is reserved.
	Name string
	// Mask is the set that the name stands for. It may be empty; every bit is a group of
	// the catalog.
	Mask Mask
	// Doc says in a line when to choose the preset. It may be empty.
	Doc string
}

// NameAll is the preset that every catalog has and none defines: all of its groups.
const NameAll = "all"

// The presets of [Gym].
const (
	// PresetDefault is the job and the spine.
	PresetDefault = BitJob | CrossProcessSpine
	// PresetPerRollout is the spine and what a rollout does, without the job: each
	// rollout is a bounded trace of its own. In NeMo Gym its root is the driver's client
	// span or the agent's server span, not the rollout's.
	PresetPerRollout = CrossProcessSpine | BitVerify | BitAgent | BitModelCall
	// PresetAll is every group.
	PresetAll Mask = 1<<15 - 1
)

// The presets of [Lens].
const (
	// LensPresetDefault is what happens a few times in a job.
	LensPresetDefault = BitJob | BitCheckpoint | BitEvaluate
	// LensPresetPerStep adds what happens in every step: all eight groups.
	LensPresetPerStep = LensPresetAll
	// LensPresetAll is every group.
	LensPresetAll Mask = 1<<8 - 1
)

var lensPresets = [...]Preset{
	{Name: "default", Mask: LensPresetDefault, Doc: "what happens a few times in a job"},
	{Name: "per_step", Mask: LensPresetPerStep, Doc: "what happens in every step too"},
}

var gymPresets = [...]Preset{
	{Name: "default", Mask: PresetDefault, Doc: "the job and the cross-process spine: one trace for the whole job"},
	{Name: "per_rollout", Mask: PresetPerRollout, Doc: "the spine and what a rollout does, without the job: one bounded trace for each rollout"},
}

// Every Gym preset holds the spine: one that does not fails to compile.
var (
	_ = [1]struct{}{}[CrossProcessSpine&^PresetDefault]
	_ = [1]struct{}{}[CrossProcessSpine&^PresetPerRollout]
	_ = [1]struct{}{}[CrossProcessSpine&^PresetAll]
)
