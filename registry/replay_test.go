// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

// history is a sequence of calls of nemo-lens's SpanRegistry, with the states after each.
type history struct {
	BoundSpec string `json:"bound_spec"`
	Steps     []struct {
		Op        string
		Namespace string
		Groups    []string
		Presets   map[string][]string
		Override  bool
		Spec      string
		Error     string
		Enabled   []string
		Pending   []string
		After     struct {
			Groups       []string
			Namespaces   []string
			Presets      map[string][]string
			BoundEnabled []string `json:"bound_enabled"`
			BoundPending []string `json:"bound_pending"`
		}
	}
}

// refusals are the sentinels of the vectors' errors. Those of groups are the catalog's,
// so such a namespace never reaches a registry.
var refusals = map[string]error{
	"empty_namespace":   registry.ErrEmptyNamespace,
	"empty_group":       spangate.ErrInvalidName,
	"reserved_group":    registry.ErrReservedName,
	"reserved_preset":   registry.ErrReservedName,
	"namespace_taken":   registry.ErrNamespaceTaken,
	"namespace_unknown": registry.ErrNamespaceUnknown,
}

func TestHistoriesOfNemoLensReplayWithRealGates(t *testing.T) {
	text, err := os.ReadFile("testdata/registry.json")
	require.NoError(t, err)
	var histories []history
	require.NoError(t, json.Unmarshal(text, &histories))
	require.Len(t, histories, 240)

	for i, h := range histories {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := registry.New()
			r.SetSpec(h.BoundSpec)
			registered, gone := map[string]library{}, []library{}
			for n, s := range h.Steps {
				var err error
				switch s.Op {
				case "register":
					var l library
					if l, err = replayRegister(r, s.Namespace, s.Groups, s.Presets, s.Override); err == nil {
						if old, ok := registered[s.Namespace]; ok {
							gone = append(gone, old)
						}
						registered[s.Namespace] = l
					}
				case "unregister":
					if err = r.Unregister(s.Namespace); err == nil {
						gone = append(gone, registered[s.Namespace])
						delete(registered, s.Namespace)
					}
				case "resolve":
					enabled, pending := r.Resolve(s.Spec)
					require.Equal(t, s.Enabled, enabled, "step %d: %q", n, s.Spec)
					require.Equal(t, s.Pending, pending, "step %d: %q", n, s.Spec)
				case "set_spec":
					require.Equal(t, s.After.BoundPending, r.SetSpec(s.Spec), "step %d", n)
				case "pin":
					require.NoError(t, r.Pin(s.Groups...), "step %d", n)
				default:
					t.Fatalf("step %d: unknown op %q", n, s.Op)
				}

				require.ErrorIs(t, err, refusals[s.Error], "step %d", n)
				require.Equal(t, s.After.Groups, r.Groups(), "step %d", n)
				require.Equal(t, s.After.Namespaces, r.Namespaces(), "step %d", n)
				require.Equal(t, s.After.Presets, r.Presets(), "step %d", n)
				require.Equal(t, s.After.BoundEnabled, r.Enabled(), "step %d", n)
				require.Equal(t, s.After.BoundPending, r.Pending(), "step %d", n)
				for namespace, l := range registered {
					require.Equal(t, l.word(newSet(r.Enabled()...)), l.gate.Load(), "step %d: gate of %s", n, namespace)
				}
				for _, l := range gone {
					require.Zero(t, l.gate.Load(), "step %d: an unregistered gate", n)
				}
			}
		})
	}
}

// replayRegister repeats a call of nemo-lens's register, which trims and folds names itself. Presets
// of the namespace's own groups are part of the catalog, the others are options.
func replayRegister(r *registry.Registry, namespace string, groups []string, presets map[string][]string, override bool) (library, error) {
	if namespace == "" {
		l := library{new(spangate.Catalog), new(spangate.Gate)} // only the zero Catalog has no namespace
		return l, r.Register(l.catalog, l.gate)
	}
	own := set{}
	for _, name := range groups {
		own[pythonLower(pythonStrip(name))] = true
	}
	var gs []spangate.Group
	for i, name := range own.list() { // the empty name comes first: nemo-lens refuses it before the name all
		gs = append(gs, spangate.Group{Name: name, Bit: 1 << i})
	}
	var ps []spangate.Preset
	var opts []registry.RegisterOption
	for name, members := range presets {
		canonical := pythonLower(pythonStrip(name))
		var mask spangate.Mask
		borrows := slices.ContainsFunc(members, func(member string) bool {
			member = pythonLower(pythonStrip(member))
			i := slices.IndexFunc(gs, func(g spangate.Group) bool { return g.Name == member })
			if i >= 0 {
				mask |= gs[i].Bit
			}
			return i < 0
		})
		if borrows || canonical == spangate.NameAll {
			opts = append(opts, registry.Preset(name, members...))
		} else {
			ps = append(ps, spangate.Preset{Name: canonical, Mask: mask})
		}
	}
	if override {
		opts = append(opts, registry.Override())
	}
	c, err := spangate.NewCatalog(namespace, gs, ps)
	if err != nil {
		return library{}, err
	}
	l := library{c, new(spangate.Gate)}
	return l, r.Register(l.catalog, l.gate, opts...)
}

// TestWholeNeMoJobUnderOneSpec has the four vocabularies of a NeMo job in one process.
func TestWholeNeMoJobUnderOneSpec(t *testing.T) {
	words := strings.Fields
	lens8 := "job checkpoint evaluate model_init load_checkpoint step forward_backward optimizer"
	rlAll := words("job checkpoint evaluate model_init step setup rollout generation logprob reward advantage policy_update data_processing data_plane per_prompt efficiency")
	megatronAll := words(lens8 + " microbatch layer communication activation_offload data_loading inference")
	require.Len(t, rlAll, 16)
	require.Len(t, megatronAll, 14)

	rl := newLibrary(t, "nemo_rl", rlAll, map[string][]string{
		"default":  words("job checkpoint evaluate model_init setup"),
		"per_step": slices.DeleteFunc(slices.Clone(rlAll), func(name string) bool { return name == "per_prompt" }),
	})
	megatron := newLibrary(t, "megatron", megatronAll, map[string][]string{
		"default":  words("job checkpoint evaluate inference"),
		"per_step": words(lens8 + " communication data_loading inference"),
	})
	lens := library{spangate.Lens, new(spangate.Gate)}
	gym := library{spangate.Gym, new(spangate.Gate)}
	libraries := map[string]library{"nemo_lens": lens, "nemo_gym": gym, "nemo_rl": rl, "megatron": megatron}

	m := newModel()
	r := registry.New()
	for namespace, l := range libraries {
		l.add(t, r)
		ns := modelNamespace{groups: set{}, presets: map[string]set{}}
		for g := range l.catalog.Groups() {
			ns.groups[g.Name] = true
		}
		for p := range l.catalog.Presets() {
			ns.presets[p.Name] = set{}
			for g := range l.catalog.Groups() {
				if p.Mask.HasAny(g.Bit) {
					ns.presets[p.Name][g.Name] = true
				}
			}
		}
		m.namespaces[namespace] = ns
	}
	// 15 of Gym, 10 of NeMo-RL's 16 (5 are Lens's, rollout is Gym's), 6 of Megatron's 14 (8 are Lens's).
	require.Len(t, r.Groups(), 15+10+6)

	for _, spec := range []string{
		"", "default", "per_step", "per_rollout", "all", "default,sandbox", "all,-per_step", "step",
		"rollout,-default", "per_step,-communication,-data_plane,layer", "default,per_prompt,tool_call", "-all,all",
	} {
		m.spec, m.pin = spec, nil
		r.SetSpec(spec)
		requireAsModel(t, m, r, libraries)
	}

	// A group goes on in each namespace that has it; the others ignore its name.
	r.SetSpec("step,rollout,layer")
	require.Equal(t, "step", lens.names())
	require.Equal(t, "step,rollout", gym.names())
	require.Equal(t, "rollout,step", rl.names())
	require.Equal(t, "layer,step", megatron.names())

	// Presets are joined: default is that of all four, and NeMo-RL's adds model_init.
	r.SetSpec("default")
	require.Equal(t, "job,checkpoint,evaluate,model_init", lens.names())
	require.Equal(t, newSet(words("job checkpoint evaluate model_init server http_client rollout setup inference")...).list(), r.Enabled())
	require.True(t, gym.gate.Load().HasAll(spangate.CrossProcessSpine))

	require.NoError(t, r.Pin())
	for namespace, l := range libraries {
		require.Zero(t, l.gate.Load(), namespace)
	}
	require.Equal(t, slices.Sorted(maps.Keys(libraries)), r.Namespaces())
}
