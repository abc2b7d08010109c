// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Span is what the tree and the counts need of a span.
type Span struct {
	ID      spanID
	Parent  spanID // without a span part in a root
	Name    string
	Group   string
	Process string
	Rollout string // the rollout's ID, or empty
	Start   time.Time
	Took    time.Duration
}

// spanID is a span's identity. Span IDs are unique within a trace only.
type spanID struct {
	Trace pcommon.TraceID
	Span  pcommon.SpanID
}

func (s Span) root() bool { return s.Parent.Span.IsEmpty() }

func newSpan(of pcommon.Resource, s ptrace.Span) Span {
	start := s.StartTimestamp().AsTime()
	return Span{
		ID:      spanID{s.TraceID(), s.SpanID()},
		Parent:  spanID{s.TraceID(), s.ParentSpanID()},
		Name:    s.Name(),
		Group:   group(s),
		Process: text(of.Attributes(), "service.name"),
		Rollout: text(s.Attributes(), rolloutID),
		Start:   start,
		Took:    s.EndTimestamp().AsTime().Sub(start),
	}
}

// group returns the group whose site started s. The program's own spans are called as their
// group is; otelhttp's tell by their kind.
func group(s ptrace.Span) string {
	switch s.Kind() {
	case ptrace.SpanKindServer:
		return "server"
	case ptrace.SpanKindClient:
		return "http_client"
	default:
		return s.Name()
	}
}

func text(attributes pcommon.Map, key string) string {
	if value, ok := attributes.Get(key); ok {
		return value.AsString()
	}
	return ""
}

// forest is spans as trees.
type forest struct {
	present  map[spanID]bool
	roots    []Span            // by start
	children map[spanID][]Span // by start
	orphans  []Span            // have a parent that is not there
}

func newForest(spans []Span) *forest {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	f := &forest{children: make(map[spanID][]Span), present: make(map[spanID]bool)}
	for _, s := range spans {
		f.present[s.ID] = true
	}
	for _, s := range spans {
		switch {
		case s.root():
			f.roots = append(f.roots, s)
		case f.present[s.Parent]:
			f.children[s.Parent] = append(f.children[s.Parent], s)
		default:
			f.orphans = append(f.orphans, s)
		}
	}
	return f
}
