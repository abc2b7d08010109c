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
	rule        int  // its index in the provider's rules, or len(rules) if no rule decides
	order       int  // how many sites the provider had before
	transparent bool // as the rule says

	// gate is nil if the spans are always on. It is set after group and roots, which mean
	// nothing before.
	gate  atomic.Pointer[spangate.Gate]
	group spangate.Mask
	roots *rootGroups // of the gate

	// found is closed when the function of Discover has returned; nil if it is not asked.
	found chan struct{}

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

// inReach reports whether an override may turn the site's spans on.
func (s *site) inReach() bool {
	gate := s.gate.Load()
	return spangate.Compiled && gate != nil && gate.Reach()&s.group != 0
}

func (s *site) countWithheld() {
	if s.withheld.counts != nil {
		s.withheld.add()
	}
}

// wait waits until the function of Discover has returned for the site. It does not wait within a call
// of that function, for this scope or another: it might wait for itself.
func (s *site) wait() {
	if s.found == nil {
		return
	}
	select {
	case <-s.found:
	default:
		if !inDiscover() {
			<-s.found
		}
	}
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

// any reports whether is is true for the site of a span of any name and kind.
func (s *sites) any(is func(*site) bool) bool {
	for i := range s.special {
		if is(s.special[i].site) {
			return true
		}
	}
	return is(s.rest)
}
