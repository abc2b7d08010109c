// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangate/spangate"
)

// Report is what --json prints. Fields are only ever added.
type Report struct {
	Runs []Run `json:"runs"` // a job for each spec, in the order of the command line
	// --spec and --bare omit Live, Leased and OffSite.
	Live    *Run  `json:"live,omitempty"`   // the job in which the spec changes
	Leased  *Run  `json:"leased,omitempty"` // the job in which the resources server has a lease
	OffSite *Cost `json:"off_site,omitempty"`
	// DetailOne is of --detail-one, without --otlp. Its rollouts are those of Runs.
	DetailOne *DetailOne `json:"detail_one,omitempty"`
}

// Run is one job.
type Run struct {
	Spec     string    `json:"spec"`   // when the job began, as given
	Groups   []string  `json:"groups"` // that Spec selects
	Rollouts []Rollout `json:"rollouts"`
	// --otlp omits Received, since the spans go to the reader's own collector.
	Received *Received `json:"received,omitempty"`
}

// Rollout is one rollout and its result.
type Rollout struct {
	ID     string  `json:"id"`
	Spec   string  `json:"spec"`             // when it began
	Leased string  `json:"leased,omitempty"` // the spec of the resources server's lease
	Prompt string  `json:"prompt"`
	Answer string  `json:"answer"`
	Reward float64 `json:"reward"`
}

// Received counts the spans of one job.
type Received struct {
	Spans        int            `json:"spans"`
	Bytes        int            `json:"bytes"` // of the exports, as OTLP in protobuf and uncompressed
	Traces       int            `json:"traces"`
	Roots        int            `json:"roots"`   // spans without a parent; a trace can have several
	Orphans      int            `json:"orphans"` // spans whose parent was not received: a broken trace
	ByGroup      map[string]int `json:"by_group"`
	ByName       map[string]int `json:"by_name"`
	ByProcess    map[string]int `json:"by_process"`
	Rollouts     []RolloutSpans `json:"rollouts"`       // in the order of Run.Rollouts
	OneTraceEach bool           `json:"one_trace_each"` // no rollout has spans in two traces
}

// RolloutSpans counts the spans of one rollout.
type RolloutSpans struct {
	Spans  int `json:"spans"`
	Traces int `json:"traces"`
}

// newRun returns the run of these rollouts, of which there is at least one.
func newRun(rollouts []Rollout) Run {
	spec := rollouts[0].Spec
	return Run{Spec: spec, Groups: spangate.Gym.Names(spangate.MustParse(spec)), Rollouts: rollouts}
}

// count counts the spans of a job with these rollouts.
func count(spans []Span, rollouts []Rollout) *Received {
	r := &Received{
		Spans:     len(spans),
		ByGroup:   make(map[string]int),
		ByName:    make(map[string]int),
		ByProcess: make(map[string]int),
		Rollouts:  make([]RolloutSpans, len(rollouts)),
	}
	present := present(spans)
	traces := make(map[pcommon.TraceID]bool)
	ofRollout := make(map[string]map[pcommon.TraceID]int) // how many spans in which trace
	for _, s := range spans {
		r.ByGroup[s.Group]++
		r.ByName[s.Name]++
		r.ByProcess[s.Process]++
		traces[s.ID.Trace] = true
		if s.root() {
			r.Roots++
		} else if !present[s.Parent] {
			r.Orphans++
		}
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

// Cost is what a site that is off costs, in nanoseconds a turn of a loop.
type Cost struct {
	BareLoop float64 `json:"bare_loop_ns"`
	OffSite  float64 `json:"off_site_ns"` // the same loop with the site in it
	Ratio    float64 `json:"ratio"`
}

// offGate is a variable of the package, so that the compiler cannot know its mask.
var offGate spangate.Gate

// measureOffSite times an empty loop, and one with a site that is off. It takes the best of several
// rounds, as other load on the machine only makes a loop slower.
func measureOffSite() *Cost {
	const turns = 1e7
	bare, site := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	spans := 0
	for range 20 {
		start := time.Now()
		for range int(turns) {
		}
		bare = min(bare, time.Since(start))
		start = time.Now()
		for range int(turns) {
			if offGate.On(spangate.BitSandbox) {
				spans++
			}
		}
		site = min(site, time.Since(start))
	}
	return &Cost{
		BareLoop: float64(bare) / turns,
		OffSite:  float64(site) / turns,
		Ratio:    float64(site) / float64(bare),
	}
}
