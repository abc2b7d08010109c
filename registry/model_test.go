// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/registry"
)

// set is a set of names.
type set map[string]bool

func newSet(names ...string) set {
	s := set{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

func (s set) list() []string {
	names := slices.AppendSeq([]string{}, maps.Keys(s))
	slices.Sort(names)
	return names
}

// model is a naive registry: maps of names, everything computed anew on every read, and none of
// the code under test.
type model struct {
	namespaces map[string]modelNamespace
	spec       string
	pin        set        // nil if the spec or plan holds
	plan       *plan.Plan // nil if the spec or pin holds
}

type modelNamespace struct {
	groups  set
	presets map[string]set
	yields  bool
}

func newModel() *model {
	return &model{namespaces: map[string]modelNamespace{}}
}

func (m *model) groups() set {
	groups := set{}
	for _, ns := range m.namespaces {
		maps.Copy(groups, ns.groups)
	}
	return groups
}

func (m *model) presets() map[string]set {
	groups, owned := m.groups(), set{}
	for _, ns := range m.namespaces {
		if !ns.yields {
			maps.Copy(owned, ns.groups)
		}
	}
	presets := map[string]set{"all": groups}
	for _, ns := range m.namespaces {
		for name, members := range ns.presets {
			if presets[name] == nil {
				presets[name] = set{}
			}
			for member := range members {
				if groups[member] && !(ns.yields && owned[member]) {
					presets[name][member] = true
				}
			}
		}
	}
	return presets
}

func (m *model) resolve(spec string) (enabled, pending set) {
	enabled, pending = set{}, set{}
	if len(spec) > 64<<10 {
		return enabled, newSet(spec[:256] + "…")
	}
	groups, presets := m.groups(), m.presets()
	off := set{}
	for entry := range strings.SplitSeq(spec, ",") {
		entry = pythonStrip(entry)
		if entry == "" {
			continue
		}
		name, exclude := strings.CutPrefix(entry, "-")
		name = pythonLower(name)
		into := enabled
		if exclude {
			into = off
		}
		_, isPreset := presets[name]
		if !groups[name] && !isPreset {
			pending[name] = true
		}
		if groups[name] {
			into[name] = true
		}
		maps.Copy(into, presets[name])
	}
	maps.DeleteFunc(enabled, func(name string, _ bool) bool { return off[name] })
	return enabled, pending
}

// state returns what is on, what overrides may turn on, and what is pending.
func (m *model) state() (enabled, reach, pending set) {
	if m.plan != nil {
		return m.planned(*m.plan)
	}
	if m.pin == nil {
		enabled, pending = m.resolve(m.spec)
		return enabled, set{}, pending
	}
	enabled, pending = set{}, set{}
	groups := m.groups()
	for name := range m.pin {
		if groups[name] {
			enabled[name] = true
		} else {
			pending[name] = true
		}
	}
	return enabled, set{}, pending
}

func (m *model) planned(p plan.Plan) (enabled, reach, pending set) {
	enabled, pending = m.resolve(p.Baseline)
	for _, spec := range p.Quiet {
		quiet, unknown := m.resolve(spec)
		maps.Copy(pending, unknown)
		maps.DeleteFunc(enabled, func(name string, _ bool) bool { return quiet[name] })
	}
	for _, spec := range p.Specs {
		on, unknown := m.resolve(spec)
		maps.Copy(enabled, on)
		maps.Copy(pending, unknown)
	}
	reach = set{}
	for _, spec := range p.Details {
		detail, unknown := m.resolve(spec)
		maps.Copy(reach, detail)
		maps.Copy(pending, unknown)
	}
	if p.Admit {
		reach = m.groups()
	}
	denied, unknown := m.resolve(p.Deny)
	maps.Copy(pending, unknown)
	maps.DeleteFunc(enabled, func(name string, _ bool) bool { return denied[name] })
	maps.DeleteFunc(reach, func(name string, _ bool) bool { return denied[name] })
	if p.Ceiling != "" {
		allowed, unknown := m.resolve(p.Ceiling)
		maps.Copy(pending, unknown)
		maps.DeleteFunc(enabled, func(name string, _ bool) bool { return !allowed[name] })
		maps.DeleteFunc(reach, func(name string, _ bool) bool { return !allowed[name] })
	}
	return enabled, reach, pending
}

const pythonSpace = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680" +
	"\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func pythonStrip(s string) string { return strings.Trim(s, pythonSpace) }

func pythonLower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
}

// library is one namespace of a test: what it registers and the gate that its sites read.
type library struct {
	catalog *spangate.Catalog
	gate    *spangate.Gate
}

// newLibrary gives each group the bit of its position, from the top down.
func newLibrary(t require.TestingT, namespace string, groups []string, presets map[string][]string) library {
	var gs []spangate.Group
	bits := map[string]spangate.Mask{}
	for i, name := range groups {
		bits[name] = 1 << (spangate.MaxGroups - 1 - i)
		gs = append(gs, spangate.Group{Name: name, Bit: bits[name]})
	}
	var ps []spangate.Preset
	for name, members := range presets {
		p := spangate.Preset{Name: name}
		for _, member := range members {
			p.Mask |= bits[member]
		}
		ps = append(ps, p)
	}
	c, err := spangate.NewCatalog(namespace, gs, ps)
	require.NoError(t, err)
	return library{catalog: c, gate: new(spangate.Gate)}
}

// word returns the word of the library's gate when exactly the enabled names are on.
func (l library) word(enabled set) spangate.Mask {
	var word spangate.Mask
	for g := range l.catalog.Groups() {
		if enabled[g.Name] {
			word |= g.Bit
		}
	}
	return word
}

// requireAsModel checks every answer of r, and the gates of the libraries that are
// registered.
func requireAsModel(t require.TestingT, m *model, r *registry.Registry, registered map[string]library) {
	enabled, reach, pending := m.state()
	require.Equal(t, m.groups().list(), r.Groups(), "groups")
	require.ElementsMatch(t, slices.Collect(maps.Keys(registered)), r.Namespaces(), "namespaces")
	require.True(t, slices.IsSorted(r.Namespaces()), "namespaces")
	require.Equal(t, lists(m.presets()), r.Presets(), "presets")
	require.Equal(t, enabled.list(), r.Enabled(), "enabled")
	require.Equal(t, pending.list(), r.Pending(), "pending")
	for namespace, l := range registered {
		require.Equal(t, l.word(enabled), l.gate.Load(), "gate of %s", namespace)
		require.Equal(t, l.word(reach), l.gate.Reach(), "reach of %s", namespace)
	}
}

func lists(sets map[string]set) map[string][]string {
	m := map[string][]string{}
	for name, s := range sets {
		m[name] = s.list()
	}
	return m
}

// add registers the library with r.
func (l library) add(t testing.TB, r *registry.Registry, opts ...registry.RegisterOption) library {
	t.Helper()
	require.NoError(t, r.Register(l.catalog, l.gate, opts...))
	return l
}

// names returns the canonical spec of the gate's word.
func (l library) names() string { return l.catalog.Format(l.gate.Load()) }
