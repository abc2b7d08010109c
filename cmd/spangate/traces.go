// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spangate/spangate"
)

// traces is what becomes of traces with some groups on, in the processes of one job.
type traces struct {
	Go     goTraces     `json:"go"`
	Python pythonTraces `json:"python"`
}

// goTraces is what becomes of them where spans stand behind a gate.
type goTraces struct {
	// Split reports whether a trace breaks in two. It never does.
	Split bool `json:"split"`
	// Root is the group of the topmost span, or empty if no group that is on is above all
	// others.
	Root string `json:"root"`
	// Note says it to people.
	Note string `json:"note"`
}

// pythonTraces is what becomes of them in NeMo Gym's own processes, where a span that is off
// takes the context of the trace with it.
type pythonTraces struct {
	// Split reports whether a trace breaks in two between processes.
	Split bool `json:"split"`
	// Missing has the groups of the spine that would have to be on, in bit order.
	Missing []string `json:"missing"`
	// Note says it to people.
	Note string `json:"note"`
}

// acrossProcesses has the groups whose spans make up a rollout, which runs in several
// processes. Those of nemo-lens are spans of one process.
const acrossProcesses = spangate.PresetAll &^ spangate.LensPresetAll

func (c *catalog) traces(m spangate.Mask) traces {
	return traces{Go: c.goTraces(m), Python: c.pythonTraces(m)}
}

func (c *catalog) goTraces(m spangate.Mask) goTraces {
	t := goTraces{Note: "never split: a site that is off hands its context on, so that what is beneath it joins the nearest span above it that is on"}
	switch {
	case m == 0:
		t.Note = "no spans; a trace that comes in is passed on as it is"
	case m.HasAny(spangate.BitJob):
		t.Root = "job"
		t.Note += "; the root is the job's span"
	case m.HasAny(spangate.BitRollout):
		t.Root = "rollout"
		t.Note += "; the root is the rollout's span, one trace for each rollout"
	case m.HasAny(acrossProcesses):
		t.Note += "; with job and rollout off there may be no span above, and what has none begins a trace"
	}
	return t
}

func (c *catalog) pythonTraces(m spangate.Mask) pythonTraces {
	t := pythonTraces{Missing: []string{}}
	missing := spangate.CrossProcessSpine &^ m
	switch {
	case m == 0:
		t.Note = "no spans"
	case !m.HasAny(acrossProcesses):
		t.Note = "nothing to split: the spans of these groups stay in one process"
	case missing == 0:
		t.Note = "one trace across processes: the spine (server, http_client, rollout) is on"
	default:
		t.Split, t.Missing = true, c.names(missing)
		t.Note = "split across processes: without " + strings.Join(t.Missing, ", ") +
			" NeMo Gym's processes don't join each other's traces; whole with " + c.Format(m|missing)
	}
	return t
}
