// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// site says when spans are on: always, or while a group of a gate is on.
type site struct {
	gate        *spangate.Gate // nil: always
	group       spangate.Mask
	transparent bool
	roots       *rootGroups // of the gate; never nil
}

func (s *site) on() bool { return s.gate == nil || s.gate.On(s.group) }

// markRoot records that the site was off where its span would have begun a trace.
func (s *site) markRoot() {
	if s.roots.word.Load()&uint64(s.group) != uint64(s.group) {
		s.roots.word.Or(uint64(s.group))
	}
}

// rootGroups are the groups of one gate that were off where their span would have begun a trace.
type rootGroups struct{ word atomic.Uint64 }

// sites has the sites of one scope.
type sites struct {
	special []special // of spans by name or kind; the first that matches decides
	rest    site      // of all other spans
}

// special is the site of spans that have a name, a kind, or both.
type special struct {
	name string         // as in Rule
	kind trace.SpanKind // unspecified: any
	site site
}

// transparent returns s with every site transparent.
func (s sites) transparent() sites {
	s.rest.transparent = true
	s.special = slices.Clone(s.special)
	for i := range s.special {
		s.special[i].site.transparent = true
	}
	return s
}

// of returns the site of a span.
func (s *sites) of(name string, opts []trace.SpanStartOption) *site {
	if len(s.special) == 0 {
		return &s.rest
	}
	return s.find(name, opts)
}

// find is the method of, for a scope with special sites. It evaluates the options only if the name matches a
// special site that has a kind.
func (s *sites) find(name string, opts []trace.SpanStartOption) *site {
	kind := trace.SpanKindUnspecified
	for i := range s.special {
		r := &s.special[i]
		if !matches(r.name, name) {
			continue
		}
		if r.kind != trace.SpanKindUnspecified {
			if kind == trace.SpanKindUnspecified {
				c := startConfig(opts)
				kind = trace.ValidateSpanKind(c.SpanKind())
			}
			if r.kind != kind {
				continue
			}
		}
		return &r.site
	}
	return &s.rest
}

// anyOn reports whether a span of any name and kind would be on.
func (s *sites) anyOn() bool {
	for i := range s.special {
		if s.special[i].site.on() {
			return true
		}
	}
	return s.rest.on()
}
