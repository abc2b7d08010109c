// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/registry"
)

// The names are few, so that they collide: as groups of several namespaces, as a preset of one
// and a group of another, as members that are not registered.
var (
	machineNamespaces = []string{"a", "b", "c", "d"}
	machineNames      = []string{"job", "step", "kernel", "io", "x-1", "n.v", "p0", "p1", "p2"}
)

func TestRegistryAgreesWithTheModel(t *testing.T) {
	namespace := rapid.SampledFrom(machineNamespaces)
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(machineNames), 0, 5, rapid.ID)
	spelling := rapid.Custom(func(t *rapid.T) string {
		return spell(t, rapid.SampledFrom(append(machineNames, "nope", "all", "default")).Draw(t, "name"))
	})
	spec := rapid.Custom(func(t *rapid.T) string {
		entry := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "", "", "-", " -", "--", "- "}).Draw(t, "sign") + spelling.Draw(t, "entry")
		})
		return strings.Join(rapid.SliceOfN(entry, 0, 6).Draw(t, "entries"), ",")
	})

	rt := t
	rapid.Check(t, func(t *rapid.T) {
		r, other, m := new(registry.Registry), new(registry.Registry), newModel()
		c := attach(rt, r, ignore)
		registered, gone := map[string]library{}, []library{}
		find, discovered := registry.Scopes(r), []spangate.Group{}

		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				name := namespace.Draw(t, "namespace")
				ns := modelNamespace{groups: newSet(names.Draw(t, "groups")...), presets: map[string]set{}}
				ofCatalog := map[string][]string{}
				var opts []registry.RegisterOption
				for _, preset := range names.Draw(t, "presets") {
					if ns.groups[preset] {
						continue
					}
					if ns.presets[preset] = (set{}); rapid.Bool().Draw(t, "in catalog") {
						ofCatalog[preset] = nil
						for _, group := range ns.groups.list() {
							if rapid.Bool().Draw(t, "holds") {
								ofCatalog[preset] = append(ofCatalog[preset], group)
								ns.presets[preset][group] = true
							}
						}
						continue
					}
					members := rapid.SliceOfN(spelling, 0, 4).Draw(t, "members")
					opts = append(opts, registry.Preset(spell(t, preset), members...))
					for _, member := range members {
						ns.presets[preset][pythonLower(pythonStrip(member))] = true
					}
				}
				l := newLibrary(t, name, ns.groups.list(), ofCatalog)
				old, taken := registered[name]
				override := rapid.Bool().Draw(t, "override")
				if override {
					opts = append(opts, registry.Override())
				}
				if taken && rapid.Bool().Draw(t, "same gate") {
					l.gate = old.gate
				}
				if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
					opts = append(opts, registry.Preset("ALL"))
					require.Error(t, r.Register(l.catalog, l.gate, opts...))
					return
				}
				if taken && !override {
					require.ErrorIs(t, r.Register(l.catalog, l.gate, opts...), registry.ErrNamespaceTaken)
					return
				}
				require.NoError(t, r.Register(l.catalog, l.gate, opts...))
				m.namespaces[name], registered[name] = ns, l
				if taken && old.gate != l.gate {
					gone = append(gone, old)
				}
			},
			"gate of another": func(t *rapid.T) {
				for _, l := range registered {
					err := r.Register(spangate.Gym, l.gate, registry.Override())
					require.ErrorIs(t, err, registry.ErrGateTaken)
				}
			},
			"gate in another registry": func(t *rapid.T) {
				for _, l := range registered {
					require.ErrorIs(t, other.Register(spangate.Gym, l.gate, registry.Override()), registry.ErrGateElsewhere)
				}
				for _, l := range gone {
					require.NoError(t, other.Register(spangate.Gym, l.gate, registry.Override()))
				}
				if len(gone) > 0 {
					require.NoError(t, other.Unregister("nemo_gym"))
				}
			},
			"unregister": func(t *rapid.T) {
				name := rapid.OneOf(namespace, rapid.Just("scopes")).Draw(t, "namespace")
				l, ok := registered[name]
				if err := r.Unregister(spell(t, name)); ok {
					require.NoError(t, err)
					delete(registered, name)
					delete(m.namespaces, name)
					gone = append(gone, l)
				} else {
					require.ErrorIs(t, err, registry.ErrNamespaceUnknown)
				}
			},
			"discover": func(t *rapid.T) {
				name := rapid.SampledFrom(machineNames).Draw(t, "name")
				gate, bit := find("example.com/" + name)
				i := slices.IndexFunc(discovered, func(g spangate.Group) bool { return g.Name == name })
				if i < 0 {
					i = len(discovered)
					discovered = append(discovered, spangate.Group{Name: name, Bit: 1 << i})
				}
				require.Equal(t, discovered[i].Bit, bit)
				gone = slices.DeleteFunc(gone, func(l library) bool { return l.gate == gate })
				l := library{spangate.MustCatalog("scopes", discovered, nil), gate}
				if old, ok := registered["scopes"]; ok {
					require.Same(t, old.gate, gate)
				}
				groups := newSet(l.catalog.Names(l.catalog.All())...)
				registered["scopes"], m.namespaces["scopes"] = l, modelNamespace{groups, map[string]set{"default": groups}, true}
			},
			"set spec": func(t *rapid.T) {
				m.spec, m.pin, m.plan = spec.Draw(t, "spec"), nil, nil
				_, _, pending := m.state()
				require.Equal(t, pending.list(), r.SetSpec(m.spec))
			},
			"set long spec": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "rarely") == 0 {
					m.spec, m.pin, m.plan = strings.Repeat("all,", spangate.MaxSpecLen/4)+"x", nil, nil
					r.SetSpec(m.spec)
				}
			},
			"pin": func(t *rapid.T) {
				pin := rapid.SliceOfN(spelling, 0, 4).Draw(t, "groups")
				canonical := set{}
				for _, name := range pin {
					canonical[pythonLower(pythonStrip(name))] = true
				}
				if err := r.Pin(pin...); canonical["all"] {
					require.ErrorIs(t, err, registry.ErrReservedName)
				} else {
					require.NoError(t, err)
					m.pin, m.plan = canonical, nil
				}
			},
			"plan": func(t *rapid.T) {
				p := plan.Plan{
					Baseline: spec.Draw(t, "baseline"), Quiet: rapid.SliceOfN(spec, 0, 3).Draw(t, "quiet"), Specs: rapid.SliceOfN(spec, 0, 4).Draw(t, "specs"),
					Details: rapid.SliceOfN(spec, 0, 3).Draw(t, "details"), Admit: rapid.IntRange(0, 3).Draw(t, "admit") == 0,
					Deny: spec.Draw(t, "deny"), Ceiling: spec.Draw(t, "ceiling"),
				}
				now, ok := c.Begin()
				require.True(t, ok)
				require.Equal(t, r.State().Generation(), now.Number())
				next := c.Commit(p, plan.Cause{})
				require.Equal(t, r.State().Generation(), next.Number())
				c.End()
				s := spec.Draw(t, "spec")
				selected, _ := m.resolve(s)
				words := next.Words(s)
				for _, l := range registered {
					require.Equal(t, l.word(selected), words[l.gate], "%q", s)
				}
				require.Equal(t, m.pin == nil, next.Planned())
				if m.pin == nil {
					m.plan = &p
				}
			},
			"change that commits nothing": func(t *rapid.T) {
				before := r.State()
				_, ok := c.Begin()
				require.True(t, ok)
				c.End()
				require.Equal(t, before, r.State())
			},
			"check": func(t *rapid.T) {
				s := spec.Draw(t, "spec")
				_, unknown := m.resolve(s)
				var err *spangate.ParseError
				if !errors.As(r.State().Check(s), &err) {
					require.Empty(t, unknown, "%q", s)
					return
				}
				names := set{}
				for _, u := range err.Unknown {
					require.Equal(t, u.Name, s[u.Offset:][:len(u.Name)])
					names[pythonLower(u.Name)] = true
				}
				require.Equal(t, unknown, names, "%q", s)
			},
			"resolve": func(t *rapid.T) {
				s := spec.Draw(t, "spec")
				enabled, pending := r.Resolve(s)
				wantEnabled, wantPending := m.resolve(s)
				require.Equal(t, wantEnabled.list(), enabled, "%q", s)
				require.Equal(t, wantPending.list(), pending, "%q", s)
			},
			"": func(t *rapid.T) {
				requireAsModel(t, m, r, registered)
				require.Equal(t, m.pin != nil, r.State().Pinned())
				for _, l := range gone {
					require.Zero(t, l.gate.Load()|l.gate.Reach(), "an unregistered gate")
				}
			},
		})
	})
}

// spell returns name in one of the spellings that mean the same.
func spell(t *rapid.T, name string) string {
	switch rapid.IntRange(0, 4).Draw(t, "spelling") {
	case 0:
		name = strings.ToUpper(name)
	case 1:
		name = strings.ReplaceAll(name, "k", "\u212a")
	}
	space := rapid.SampledFrom([]string{"", "", " ", "\t", "\u0085", "\u3000", "\x1f\n"})
	return space.Draw(t, "before") + name + space.Draw(t, "after")
}
