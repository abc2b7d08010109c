// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// Scope is an instrumentation scope, as the function of [Scopes] returns it. The zero value is the
// scope with the empty name, which has started nothing.
type Scope struct {
	Name  string
	Sites []Site // in the order in which the rules are asked
}

// Site is the spans of a scope that one rule decides about. Its texts are those of the field of the
// same name in [wire.Site].
type Site struct {
	Rule, SpanName, Kind string
	Gate                 *spangate.Gate // nil: the spans always exist, whatever Group is
	Group                spangate.Mask  // of Gate; the spans exist while one of its groups is on
	Started              uint64         // spans since the start of the program
	Withheld             uint64         // spans not started because Group was off
	CountsWithheld       bool           // whether the program counts them
}

// UnmatchedRule is a rule that has matched no scope yet, as in [wire.UnmatchedRule].
type UnmatchedRule struct{ Rule, Nearest string }

// Spans counts spans since the start of the program. The zero value has none.
type Spans struct {
	Started        uint64
	PerSecond      float64 // started over the last minute, or since [New] if that is less
	Withheld       uint64  // not started because their group was off, if CountsWithheld
	CountsWithheld bool
}

func (s *Spans) add(more Spans) {
	s.Started += more.Started
	s.PerSecond += more.PerSecond
	s.Withheld += more.Withheld
	s.CountsWithheld = s.CountsWithheld || more.CountsWithheld
}

// ScopeInfo is a [Scope], as in [wire.Scope].
type ScopeInfo struct {
	Name  string
	Spans Spans
	Sites []SiteInfo
}

// SiteInfo is a [Site], as in [wire.Site].
type SiteInfo struct {
	Rule, SpanName, Kind string
	Groups               []string
	On                   bool
	Spans                Spans
}

const (
	// sampleInterval is the time between two samples that are kept for sampleWindow.
	sampleInterval = 10 * time.Second
	sampleWindow   = time.Minute
	// maxSampleAge is how old the counts in an answer of the endpoint may be, so that it is not
	// built for each request.
	maxSampleAge = time.Second

	// Bounds on the scopes and sites that are shown by themselves: their names may be made at run
	// time. All others are shown as otherScopes.
	maxScopes    = 1000
	maxSites     = 10_000 // of all scopes; a client reads no more than five times as many
	maxScopeName = 256    // bytes
	otherScopes  = "other"
)

// Scopes lets [Controller.State], the endpoint and [Metrics] show the instrumentation scopes of the
// program, the spans of each scope and group, and the rules that have matched no scope. scopes
// returns them; it must not call State, and its counts must never go back. The controller neither
// keeps nor changes the slices. Package setup connects it to an [otelgate.TracerProvider].
//
// scopes is called by New, then every ten seconds until the controller is closed; by each call of State
// and each collection of the metrics; and by the endpoint, at most once a second. The calls may come from
// several goroutines at once. If one panics, the counts before it are shown, and one record every ten
// seconds says so.
//
// The first 1,000 scopes that are seen, and their first 10,000 sites, are shown by themselves; all others,
// and scopes whose name is longer than 256 bytes, are shown together as the scope "other". The texts of a
// site are cut at 256 bytes, and bytes that are not UTF-8 are replaced in the name of a scope. A site counts
// to each of its groups that is registered. Its other bits are shown as their mask, as in 0x8000. A nil
// scopes has no effect.
//
// [otelgate.TracerProvider]: https://pkg.go.dev/github.com/spangate/spangate/otelgate#TracerProvider
func Scopes(scopes func() ([]Scope, []UnmatchedRule)) Option {
	return func(o *options) {
		if scopes != nil {
			o.scopes = scopes
		}
	}
}

// siteKey identifies a [Site], whose counts are 0 here.
type siteKey struct {
	scope string
	Site
}

// sample is what the program's function returned at one time. It is immutable.
type sample struct {
	at        time.Time
	sites     []siteKey // sorted by scope
	spans     map[siteKey]*Spans
	unmatched []UnmatchedRule
}

// samples are the samples of a controller.
type samples struct {
	mu      sync.Mutex
	scopes  map[string]bool  // those that are shown by themselves
	sites   map[siteKey]bool // those that are shown by themselves
	kept    []*sample        // of the last minute, the oldest first
	latest  *sample          // nil without [Scopes]
	calling bool             // a caller that accepts an older sample is taking one
}

// sample returns a sample that is at most maxAge old; while another caller is taking one, or if the
// controller is closed or the program's function panics, it is the last one. panicked describes the
// panic. The sample is nil without [Scopes].
func (c *Controller) sample(maxAge time.Duration) (m *sample, panicked []slog.Attr) {
	s, now := &c.samples, time.Now()
	s.mu.Lock()
	m = s.latest
	if m == nil || c.closed.Err() != nil || maxAge > 0 && (s.calling || now.Sub(m.at) < maxAge) {
		s.mu.Unlock()
		return m, nil
	}
	s.calling = s.calling || maxAge > 0
	s.mu.Unlock()
	defer func() { // deferred, since the function may call runtime.Goexit
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calling = s.calling && maxAge == 0
		m = s.latest
	}()
	return nil, protect(func() {
		scopes, unmatched := c.options.scopes()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !now.Before(s.latest.at) {
			s.latest = s.newSample(now, scopes, unmatched)
		}
	})
}

// keyOf returns the key that a site is counted under. The lock is held.
func (s *samples) keyOf(scope string, site Site) siteKey {
	scope = strings.ToValidUTF8(scope, "\uFFFD") // an exporter of metrics refuses other text
	site.Started, site.Withheld = 0, 0
	site.Rule, site.SpanName, site.Kind = spec.Head(site.Rule), spec.Head(site.SpanName), spec.Head(site.Kind)
	key := siteKey{scope, site}
	switch {
	case s.sites[key]:
	case len(s.sites) < maxSites && len(scope) <= maxScopeName && (s.scopes[scope] || len(s.scopes) < maxScopes):
		s.scopes[scope], s.sites[key] = true, true
	default:
		key = siteKey{otherScopes, Site{Gate: site.Gate, Group: site.Group, CountsWithheld: site.CountsWithheld}}
	}
	return key
}

// newSample returns what the program's function returned, with rates. The lock is held.
func (s *samples) newSample(at time.Time, scopes []Scope, unmatched []UnmatchedRule) *sample {
	m := &sample{at: at, spans: make(map[siteKey]*Spans), unmatched: slices.Clone(unmatched)}
	for _, scope := range scopes {
		for _, site := range scope.Sites {
			key := s.keyOf(scope.Name, site)
			if m.spans[key] == nil {
				m.spans[key] = new(Spans)
				m.sites = append(m.sites, key)
			}
			m.spans[key].add(Spans{Started: site.Started, Withheld: site.Withheld, CountsWithheld: site.CountsWithheld})
		}
	}
	slices.SortStableFunc(m.sites, func(a, b siteKey) int { return strings.Compare(a.scope, b.scope) })
	// An older one was kept if the function has panicked since.
	i := slices.IndexFunc(s.kept, func(k *sample) bool { return at.Sub(k.at) <= sampleWindow+sampleInterval })
	if i < 0 {
		return m
	}
	first := s.kept[i]
	seconds := max(1, at.Sub(first.at).Seconds())
	for key, now := range m.spans {
		if before := cmp.Or(first.spans[key], new(Spans)); now.Started > before.Started {
			now.PerSecond = float64(now.Started-before.Started) / seconds
		}
	}
	return m
}

// startSampling takes the first sample, and others until the controller is closed.
func (c *Controller) startSampling() {
	if c.options.scopes != nil {
		c.samples.scopes, c.samples.sites, c.samples.latest = make(map[string]bool), make(map[siteKey]bool), &sample{}
		c.keepSample()
	}
}

// keepSample takes a sample, and keeps it for the rates of later ones. It calls itself again.
func (c *Controller) keepSample() {
	if c.closed.Err() != nil {
		return
	}
	defer time.AfterFunc(sampleInterval, c.keepSample) // not before c.sample has returned, and even if that calls runtime.Goexit
	m, panicked := c.sample(0)
	if panicked != nil {
		c.warn(time.Now(), "spangate: the function of control.Scopes panicked; the counts before it are shown, and it is called again", panicked...)
		return
	}
	s := &c.samples
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, m)
	for len(s.kept) > 1 && m.at.Sub(s.kept[1].at) >= sampleWindow {
		s.kept = s.kept[1:]
	}
}

// scopes returns the scopes of m, with the groups that v has. It is never nil.
func (v *view) scopes(m *sample) []ScopeInfo {
	infos := []ScopeInfo{}
	if m == nil {
		return infos
	}
	catalogs := make(map[*spangate.Gate]*spangate.Catalog)
	for _, member := range v.Members() {
		catalogs[member.Gate] = member.Catalog
	}
	for _, site := range m.sites {
		spans := *m.spans[site]
		info := SiteInfo{Rule: site.Rule, SpanName: site.SpanName, Kind: site.Kind, Groups: []string{}, On: site.Gate == nil, Spans: spans}
		if catalog := catalogs[site.Gate]; catalog != nil && site.Group != 0 {
			info.Groups = sorted(catalog.Names(site.Group))
			info.On = slices.ContainsFunc(info.Groups, v.on)
		} else if site.Gate != nil {
			info.Groups = []string{site.Group.String()}
			info.On = site.Gate.On(site.Group)
		}
		if n := len(infos); n == 0 || infos[n-1].Name != site.scope {
			infos = append(infos, ScopeInfo{Name: site.scope})
		}
		scope := &infos[len(infos)-1]
		scope.Spans.add(spans)
		scope.Sites = append(scope.Sites, info)
	}
	return infos
}
