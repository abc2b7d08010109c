// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// traces is what becomes of traces with some groups on, in the processes of one job. Spans lie
// as in NeMo Gym: the driver's client span is above the agent's server span, which is above the
// rollout's.
type traces struct {
	Go     goTraces     `json:"go"`
	Python pythonTraces `json:"python"`
}

// goTraces is what becomes of them in Go processes, where spans stand behind a gate.
type goTraces struct {
	// Split reports whether a trace breaks in two at a Go process. It never does.
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
	// Accepted reports whether nemo-lens accepts the spec. It rejects one with an exclusion,
	// and then emits no spans.
	Accepted bool `json:"accepted"`
	// Spec is a spec that nemo-lens accepts and that selects the same groups; Split and
	// Missing are about it. It is empty if no group is on, since nemo-lens takes a blank spec
	// for default.
	Spec string `json:"spec"`
	// Split reports whether a trace breaks in two between processes.
	Split bool `json:"split"`
	// Missing has the groups that would have to be on for one trace, in bit order.
	Missing []string `json:"missing"`
	// Note says it to people.
	Note string `json:"note"`
}

const (
	// acrossProcesses has the groups whose spans make up a rollout, which runs in several
	// processes. Those of nemo-lens are spans of one process.
	acrossProcesses = spangate.PresetAll &^ spangate.LensPresetAll
	// joins has the groups whose spans hand a trace from one Python process to the next.
	joins = spangate.BitServer | spangate.BitHTTPClient
)

// traces returns what becomes of traces with the spec text, which selects m.
func (c *catalog) traces(text string, m spangate.Mask) traces {
	return traces{Go: c.goTraces(m), Python: c.pythonTraces(text, m)}
}

func (c *catalog) goTraces(m spangate.Mask) goTraces {
	t := goTraces{Note: "never split by a Go process: what is beneath a site that is off joins the nearest span above it that is on"}
	switch {
	case m == 0:
		t.Note = "no spans; a trace that comes in is passed on as it is"
	case m.HasAny(spangate.BitJob):
		t.Root = "job"
		t.Note += "; the root is the job's span"
	case m.HasAny(spangate.BitHTTPClient):
		t.Root = "http_client"
		t.Note += "; one trace for each rollout, with the driver's client span as the root"
	case m.HasAny(spangate.BitServer):
		t.Root = "server"
		t.Note += "; one trace for each rollout, with the agent's server span as the root"
	case m.HasAny(spangate.BitRollout):
		t.Root = "rollout"
		t.Note += "; one trace for each rollout, with its own span as the root, since no client or server span is above it"
	case m.HasAny(acrossProcesses):
		t.Note += "; there may be no span above, and what has none begins a trace"
	}
	return t
}

func (c *catalog) pythonTraces(text string, m spangate.Mask) pythonTraces {
	t := pythonTraces{Accepted: true, Spec: c.Format(m), Missing: []string{}}
	for e := range spec.Entries(text) {
		t.Accepted = t.Accepted && !e.Exclude
	}
	if t.Accepted && m != 0 {
		t.Spec = text
	}
	missing := joins &^ m
	switch {
	case spec.Trim(text) == "":
		t.Note = "a blank spec is not read there, and default is on; " + noTraces
	case m == 0 && t.Accepted:
		t.Note = "no spans"
	case m == 0:
		t.Note = rejected + "; " + noTraces
	case !m.HasAny(acrossProcesses):
		t.Note = "nothing to split: the spans of these groups stay in one process"
	case missing == 0:
		t.Note = "one trace across processes: server and http_client are on"
	default:
		t.Split, t.Missing = true, c.names(missing)
		t.Note = "split across processes: without " + strings.Join(t.Missing, ", ") +
			" NeMo Gym's processes don't join each other's traces; whole with " + c.Format(m|missing)
	}
	if m != 0 && !t.Accepted {
		t.Note = rejected + "; give it " + t.Spec + " instead; with that, " + t.Note
	}
	return t
}

const (
	rejected = "rejected: nemo-lens (b85578f) has no exclusions, and that process emits no spans; its newer registry keeps them pending, and what they take away stays on"
	noTraces = "for no spans, set NEMO_GYM_OTEL_TRACES_ENABLED=0"
)
