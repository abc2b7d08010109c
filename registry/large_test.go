// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/registry"
)

const groupsEach = 25

// large returns a registry with groupsEach groups in each of n namespaces, no two the same;
// each namespace has the presets default, quiet and one of its own.
func large(t testing.TB, n int) (*registry.Registry, *model, map[string]library) {
	r, m, libraries := registry.New(), newModel(), map[string]library{}
	for i := range n {
		namespace := fmt.Sprintf("lib%d", i)
		var groups []string
		for j := range groupsEach {
			groups = append(groups, groupName(i*groupsEach+j))
		}
		presets := map[string][]string{
			"default":          groups[:2],
			"quiet":            groups[i%groupsEach : i%groupsEach+1],
			namespace + ".all": groups,
		}
		libraries[namespace] = newLibrary(t, namespace, groups, presets).add(t, r)
		ns := modelNamespace{groups: newSet(groups...), presets: map[string]set{}}
		for name, members := range presets {
			ns.presets[name] = newSet(members...)
		}
		m.namespaces[namespace] = ns
	}
	return r, m, libraries
}

// groupName scatters the groups of a namespace over the sorted list of all.
func groupName(i int) string { return fmt.Sprintf("%d.group_%d", i*7919%1000, i) }

// spec100 is a spec of 100 entries over the first 1,000 groups.
func spec100() string {
	var entries []string
	for i := range 100 {
		entries = append(entries, groupName(i*10))
	}
	return strings.Join(entries, ",")
}

func TestThousandGroupsInFortyNamespacesUnderAnySpec(t *testing.T) {
	r, m, libraries := large(t, 40)
	require.Len(t, r.Groups(), 1000)
	names := []string{"all", "default", "quiet", "lib0.all", "lib39.all", "lib17.all", "nope"}
	random := rand.New(rand.NewPCG(1, 2))
	specs := []string{"", "all", "-all", "default,quiet,-lib3.all", spec100(), "all,-" + strings.ReplaceAll(spec100(), ",", ",-")}
	for range 100 {
		var entries []string
		for range random.IntN(40) {
			name := groupName(random.IntN(1000))
			if random.IntN(4) == 0 {
				name = names[random.IntN(len(names))]
			}
			if random.IntN(4) == 0 {
				name = "-" + name
			}
			entries = append(entries, name)
		}
		specs = append(specs, strings.Join(entries, ","))
	}
	for _, spec := range specs {
		m.spec, m.pin = spec, nil
		r.SetSpec(spec)
		requireAsModel(t, m, r, libraries)
	}
	require.Len(t, m.presets(), 1+2+40)
}

// The budget of the first is 100 µs. The others show its parts: Resolve costs the spec and what it
// turns on, a change costs every gate as well.
func BenchmarkThousandGroups(b *testing.B) {
	r, _, _ := large(b, 40)
	spec := spec100()
	enabled, pending := r.Resolve(spec)
	require.Len(b, enabled, 100)
	require.Empty(b, pending)
	b.Run("Resolve/100 entries", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Resolve(spec)
		}
	})
	b.Run("Resolve/all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Resolve("all")
		}
	})
	b.Run("SetSpec/100 entries", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.SetSpec(spec)
		}
	})
	b.Run("Register+Unregister", func(b *testing.B) {
		b.ReportAllocs()
		l := mylib(b)
		for b.Loop() {
			l.add(b, r)
			_ = r.Unregister("mylib")
		}
	})
}
