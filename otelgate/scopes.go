// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"cmp"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// Scope is an instrumentation scope that a provider or its views have been asked for a tracer of.
// Tracers of one scope that differ in version, schema URL or attributes are counted together.
type Scope struct {
	// Name is the name of the scope; that of the scope without a name is [EmptyScope].
	Name string
	// Started and Withheld are the sums over Sites.
	Started, Withheld uint64
	// Sites has the sites in the order of their rules: the first one whose rule matches the name
	// and kind of a span is the span's. Sites without a rule come last.
	Sites []Site
}

// Site is the spans of one scope that are on or off together.
type Site struct {
	// Rule is the rule that decides, as it was given. It is the zero value if none does: the
	// spans are of a view that [TracerProvider.Group] made, are put in a group by
	// [Discover], or are always on.
	Rule Rule
	// Gate is the gate that turns the spans on and off; nil if they are always on.
	Gate *spangate.Gate
	// Group has the groups of Gate that the spans are in; they are on while one of these is.
	Group spangate.Mask
	// Started is how many of the spans were started by the base provider, those that its sampler
	// dropped included. A base that is itself gated does not start a span that it withholds.
	Started uint64
	// Withheld is how many were not started because none of their groups was on. It stays
	// zero without [CountWithheld].
	Withheld uint64
}

// Scopes returns every scope that p or a view of p has been asked for a tracer of, sorted by name,
// with the counts so far. The counts of two sites need not be of the same instant.
//
// A scope is kept for as long as the provider, as its tracers are, and takes 512 bytes for the
// counts of each site, twice that with [CountWithheld]. A program that makes up names of scopes at
// run time grows by that for each.
func (p *TracerProvider) Scopes() iter.Seq[Scope] {
	var scopes []Scope
	for _, s := range p.sites() {
		if n := len(scopes); n == 0 || scopes[n-1].Name != s.scope {
			scopes = append(scopes, Scope{Name: s.scope})
		}
		site := Site{Started: s.started.sum(), Withheld: s.withheld.sum()}
		if s.rule < len(p.rules) {
			site.Rule = p.rules[s.rule]
		}
		if site.Gate = s.gate.Load(); site.Gate != nil {
			site.Group = s.group
		}
		scope := &scopes[len(scopes)-1]
		scope.Sites = append(scope.Sites, site)
		scope.Started += site.Started
		scope.Withheld += site.Withheld
	}
	return slices.Values(scopes)
}

// sites returns all sites, sorted by scope and rule.
func (p *TracerProvider) sites() []*site {
	if p == nil || p.origin == nil {
		return nil
	}
	p.origin.mu.Lock()
	sites := slices.Collect(maps.Values(p.origin.sites))
	p.origin.mu.Unlock() // spans wait for it, so not while sorting
	slices.SortFunc(sites, func(a, b *site) int {
		return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.rule, b.rule), cmp.Compare(a.order, b.order))
	})
	return sites
}

// UnmatchedRule is a rule that decides about no spans of any scope seen so far.
type UnmatchedRule struct {
	Rule Rule
	// Nearest is the scope whose name is most like the rule's Scope, of the first 1,000 that were
	// seen, or "" if none is close. If the rule does match it, an earlier rule or a view decides about
	// all of its spans.
	Nearest string
}

// maxNearest is how many scopes may be a Nearest, since names of scopes may be made at run time.
const maxNearest = 1000

// Unmatched returns the rules that decide about no spans of any scope that p or a view of p has been
// asked for a tracer of, in the order in which they were given: their Scope may be misspelt, an
// earlier rule may match all that they do, or their library has not been used yet. It leaves out the
// rules of except.
func (p *TracerProvider) Unmatched(except ...Rule) iter.Seq[UnmatchedRule] {
	first := make(map[string]int) // the order of the first site of each scope
	matched := make(map[int]bool)
	for _, s := range p.sites() {
		matched[s.rule] = true
		if n, ok := first[s.scope]; !ok || s.order < n {
			first[s.scope] = s.order
		}
	}
	var unmatched []UnmatchedRule
	if p != nil {
		scopes := slices.SortedFunc(maps.Keys(first), func(a, b string) int { return first[a] - first[b] })
		near := newNearest(scopes[:min(len(scopes), maxNearest)])
		for i, r := range p.rules {
			if !matched[i] && !slices.Contains(except, r) {
				unmatched = append(unmatched, UnmatchedRule{r, near.to(r.Scope)})
			}
		}
	}
	return slices.Values(unmatched)
}

// nearest finds the scope that a misspelt rule means. Most scopes are import paths, and the last
// element of the rule's path is often right, or nearly.
type nearest struct {
	scopes   []string            // sorted
	having   map[string][]string // the scopes that have an element in their path, by the element in lower case
	elements []string            // the keys of having, sorted
}

func newNearest(scopes []string) nearest {
	n := nearest{slices.Sorted(slices.Values(scopes)), make(map[string][]string), nil}
	for _, scope := range n.scopes {
		for element := range strings.SplitSeq(strings.ToLower(scope), "/") {
			n.having[element] = append(n.having[element], scope)
		}
	}
	n.elements = slices.Sorted(maps.Keys(n.having))
	return n
}

// to returns a scope that pattern matches. Without one, it takes the path element nearest to the last of
// pattern, and of the scopes with that element returns the one with the longest prefix in common.
func (n *nearest) to(pattern string) (found string) {
	if matchesAny(pattern) {
		return ""
	}
	if i := slices.IndexFunc(n.scopes, func(scope string) bool { return matches(pattern, scope) }); i >= 0 {
		return n.scopes[i]
	}
	pattern = strings.TrimSuffix(pattern, "*")
	last := path.Base(pattern)
	if spec.IsMajorVersion(last) {
		last = path.Base(path.Dir(pattern))
	}
	element, most := spec.Nearest(last, n.elements), -1
	if element == "" {
		return ""
	}
	for _, scope := range n.having[element] {
		same := 0
		for same < min(len(scope), len(pattern)) && scope[same] == pattern[same] {
			same++
		}
		if same > most {
			found, most = scope, same
		}
	}
	return found
}
