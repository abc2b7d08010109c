// SPDX-License-Identifier: Apache-2.0

package spangate

// Preset is a named mask of one catalog. The zero value is not a valid preset. A Preset is a value
// and may be copied.
type Preset struct {
	// Name is the preset's name in a spec. It follows the rule of [Group.Name], and is
	// neither the name of a group nor [NameAll], which is reserved.
	Name string
	// Mask is the set that the name means. It may be empty. Each of its bits belongs to a
	// group of the catalog.
	Mask Mask
	// Doc says in a line what the preset is for. It may be empty.
	Doc string
}

// NameAll is the name of the preset of all groups. Every catalog has it, and none may define
// another of that name.
const NameAll = "all"

// The presets of [Gym].
const (
	// PresetDefault is the job and the spine.
	PresetDefault = BitJob | CrossProcessSpine
	// PresetPerRollout is the spine and the steps of a rollout, without the job: each rollout
	// is a bounded trace of its own. In NeMo Gym the root of that trace is the client span
	// of the driver or the server span of the agent, not the rollout's span.
	PresetPerRollout = CrossProcessSpine | BitVerify | BitAgent | BitModelCall
	// PresetAll is every group.
	PresetAll Mask = 1<<15 - 1
)

// The presets of [Lens].
const (
	// LensPresetDefault is what happens a few times in a job.
	LensPresetDefault = BitJob | BitCheckpoint | BitEvaluate
	// LensPresetPerStep is all eight groups, with those of every step.
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

// Every Gym preset has the spine; without it this does not compile.
var (
	_ = [1]struct{}{}[CrossProcessSpine&^PresetDefault]
	_ = [1]struct{}{}[CrossProcessSpine&^PresetPerRollout]
	_ = [1]struct{}{}[CrossProcessSpine&^PresetAll]
)
