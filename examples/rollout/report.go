// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangate/spangate"
)

// Report is what --json prints. Its fields are only ever added to.
type Report struct {
	// Runs has a job for each spec, in the order in which they ran.
	Runs []Run `json:"runs"`
	// Live is the job in the middle of which the spec changed. It is missing with --spec.
	Live *Run `json:"live,omitempty"`
	// Leased is the job in the middle of which the resources server had a lease. It is missing
	// with --spec.
	Leased *Run `json:"leased,omitempty"`
	// OffSite is what a site that is off costs. It is missing with --spec.
	OffSite *Cost `json:"off_site,omitempty"`
}

// Run is one job.
type Run struct {
	// Spec is the spec when the job began, as given, and Groups what it selects.
	Spec     string    `json:"spec"`
	Groups   []string  `json:"groups"`
	Rollouts []Rollout `json:"rollouts"`
	// Received is missing with --otlp: the spans are then in the reader's own collector.
	Received *Received `json:"received,omitempty"`
}

// Rollout is one rollout and what came of it.
type Rollout struct {
	ID     string  `json:"id"`
	Spec   string  `json:"spec"`             // when it began
	Leased string  `json:"leased,omitempty"` // the spec that the resources server had leased besides
	Prompt string  `json:"prompt"`
	Answer string  `json:"answer"`
	Reward float64 `json:"reward"`
}

// Received is the spans of one job, counted.
type Received struct {
	Spans  int `json:"spans"`
	Bytes  int `json:"bytes"` // of the exports, as OTLP in protobuf and uncompressed
	Traces int `json:"traces"`
	// Roots have no parent; there can be several in a trace. Orphans have one that is not
	// among the spans, which means a broken trace.
	Roots     int            `json:"roots"`
	Orphans   int            `json:"orphans"`
	ByGroup   map[string]int `json:"by_group"`
	ByName    map[string]int `json:"by_name"`
	ByProcess map[string]int `json:"by_process"`
	// Rollouts are in the order of Run.Rollouts.
	Rollouts []RolloutSpans `json:"rollouts"`
	// OneTraceEach is whether no rollout has spans in more than one trace.
	OneTraceEach bool `json:"one_trace_each"`
}

// RolloutSpans is the spans of one rollout, counted. Without any there is no trace either.
type RolloutSpans struct {
	Spans  int `json:"spans"`
	Traces int `json:"traces"`
}

// newRun returns the run of these rollouts, whose specs have been set.
func newRun(rollouts []Rollout) Run {
	r := Run{Spec: rollouts[0].Spec, Groups: []string{}, Rollouts: rollouts}
	mask := spangate.MustParse(r.Spec)
	for group := range spangate.Gym.Groups() {
		if mask.HasAny(group.Bit) {
			r.Groups = append(r.Groups, group.Name)
		}
	}
	return r
}

// count counts the spans of a job with these rollouts.
func count(spans []Span, rollouts []Rollout) *Received {
	f := newForest(spans)
	r := &Received{
		Spans:     len(spans),
		Roots:     len(f.roots),
		Orphans:   len(f.orphans),
		ByGroup:   make(map[string]int),
		ByName:    make(map[string]int),
		ByProcess: make(map[string]int),
		Rollouts:  make([]RolloutSpans, len(rollouts)),
	}
	traces := make(map[pcommon.TraceID]bool)
	ofRollout := make(map[string]map[pcommon.TraceID]int)
	for _, s := range spans {
		r.ByGroup[s.Group]++
		r.ByName[s.Name]++
		r.ByProcess[s.Process]++
		traces[s.ID.Trace] = true
		if ofRollout[s.Rollout] == nil {
			ofRollout[s.Rollout] = make(map[pcommon.TraceID]int)
		}
		ofRollout[s.Rollout][s.ID.Trace]++
	}
	r.Traces = len(traces)
	for i, rollout := range rollouts {
		for _, spans := range ofRollout[rollout.ID] {
			r.Rollouts[i].Spans += spans
			r.Rollouts[i].Traces++
		}
	}
	r.OneTraceEach = !slices.ContainsFunc(r.Rollouts, func(s RolloutSpans) bool { return s.Traces > 1 })
	return r
}
