// SPDX-License-Identifier: Apache-2.0

package spangate

// Group is a named set of spans that are switched together. The zero value is not a valid group
// of a catalog. A Group is a value and may be copied.
type Group struct {
	// Name is the group's name in a spec: lower-case ASCII letters, digits, '_', '.' and,
	// not first, '-'; from 1 to [MaxNameLen] bytes.
	Name string
	// Bit is the group's one bit.
	Bit Mask
	// Doc describes the group's spans in a line. It may be empty.
	Doc string
}

// Position returns the index of the group's bit, from 0 to [MaxGroups]-1, or -1 if Bit is not
// exactly one bit.
func (g Group) Position() int {
	if g.Bit.Count() != 1 {
		return -1
	}
	return g.Bit.position()
}

// The groups of [Gym]. The first eight are those of [Lens].
//
// Programs compile positions in and store masks, so positions are public API: each is written
// out, new ones are appended, and none is used again.
const (
	BitJob             Mask = 1 << 0
	BitCheckpoint      Mask = 1 << 1
	BitEvaluate        Mask = 1 << 2
	BitModelInit       Mask = 1 << 3
	BitLoadCheckpoint  Mask = 1 << 4
	BitStep            Mask = 1 << 5
	BitForwardBackward Mask = 1 << 6
	BitOptimizer       Mask = 1 << 7
	BitServer          Mask = 1 << 8
	BitHTTPClient      Mask = 1 << 9
	BitRollout         Mask = 1 << 10
	BitVerify          Mask = 1 << 11
	BitAgent           Mask = 1 << 12
	BitModelCall       Mask = 1 << 13
	BitSandbox         Mask = 1 << 14
)

// CrossProcessSpine is what nemo-lens calls the cross-process spine; every preset of [Gym] has
// it. In NeMo Gym, a Python process with server or http_client off breaks the traces that pass
// through it; rollout may be off. A Go process with gated spans (package otelgate) breaks no
// trace, whatever its mask.
const CrossProcessSpine = BitServer | BitHTTPClient | BitRollout

// lensGroups is nemo-lens's SpanGroup: the spans of a training job.
var lensGroups = [...]Group{
	{Name: "job", Bit: BitJob, Doc: "the whole job, from start to exit"},
	{Name: "checkpoint", Bit: BitCheckpoint, Doc: "saving a checkpoint"},
	{Name: "evaluate", Bit: BitEvaluate, Doc: "an evaluation or validation pass"},
	{Name: "model_init", Bit: BitModelInit, Doc: "building the model"},
	{Name: "load_checkpoint", Bit: BitLoadCheckpoint, Doc: "restoring a checkpoint"},
	{Name: "step", Bit: BitStep, Doc: "one training step"},
	{Name: "forward_backward", Bit: BitForwardBackward, Doc: "the forward and backward passes of a step"},
	{Name: "optimizer", Bit: BitOptimizer, Doc: "the optimizer update of a step"},
}

// gymGroups is what NeMo Gym's GymSpanGroup adds: the spans of a rollout.
var gymGroups = [...]Group{
	{Name: "server", Bit: BitServer, Doc: "a request that a server handles (cross-process spine)"},
	{Name: "http_client", Bit: BitHTTPClient, Doc: "a request that a process sends to another (cross-process spine)"},
	{Name: "rollout", Bit: BitRollout, Doc: "one rollout, from task to reward (cross-process spine)"},
	{Name: "verify", Bit: BitVerify, Doc: "checking a rollout's result and giving its reward"},
	{Name: "agent", Bit: BitAgent, Doc: "an agent's loop over model and tools"},
	{Name: "model_call", Bit: BitModelCall, Doc: "one call of the policy model"},
	{Name: "sandbox", Bit: BitSandbox, Doc: "running code or a tool in a sandbox"},
}

// This does not compile if a table has too few or too many rows for the bits.
var (
	_ = [1]struct{}{}[BitServer>>len(lensGroups)-BitJob]
	_ = [1]struct{}{}[BitSandbox>>(len(lensGroups)+len(gymGroups)-1)-BitJob]
)
