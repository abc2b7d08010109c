// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// site says when the spans of one scope that one rule decides about are on: always, or while a
// group of a gate is on. The tracers of the scope share it, those of views included.
type site struct {
	scope       string
	rule        int  // its index in the provider's rules, or their number if no rule decides
	number      int  // how many sites the provider had before
	transparent bool // as the rule says

	// gate is nil if the spans are always on. It is set after group and roots, which mean
	// nothing before.
	gate  atomic.Pointer[spangate.Gate]
	group spangate.Mask
	roots *rootGroups // of the gate

	started, withheld counter // withheld is the zero value unless CountWithheld was given
}

// siteKey identifies a site in its provider. What Discover finds is not part of it.
type siteKey struct {
	scope string
	rule  int
	gate  *spangate.Gate
	group spangate.Mask
}

// ungated stands in for a site without a gate whose span the base withheld.
var ungated = &site{roots: new(rootGroups)}

func (s *site) on() bool {
	gate := s.gate.Load()
	return gate == nil || gate.On(s.group)
}

// markRoot records that the site was off where its span would have begun a trace. The site has
// a gate.
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
	rest    *site     // of all other spans
}

// special is the site of spans that have a name, a kind, or both.
type special struct {
	name string         // as in Rule
	kind trace.SpanKind // unspecified: any
	site *site
}

// of returns the site of a span.
func (s *sites) of(name string, opts []trace.SpanStartOption) *site {
	if len(s.special) == 0 {
		return s.rest
	}
	return s.find(name, opts)
}

// find is of for a scope with special sites. It reads the options only if the name matches a site that
// has a kind.
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
		return r.site
	}
	return s.rest
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
