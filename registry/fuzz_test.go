// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/registry"
)

// FuzzSpec compares the registry with the model for any text: resolved, as the spec in force, and
// after a namespace was unregistered and registered again. It also passes the text to Pin.
func FuzzSpec(f *testing.F) {
	for _, seed := range []string{
		"",
		"step,io",                         // a shared group; a group that is also a preset
		"-io,all",                         // an exclusion holds for what comes after it
		"ends,-a",                         // borrowed members
		"-",                               // an exclusion of nothing
		"--a,- a,-,,-a",                   // dashes that are part of a name
		" A ,\x1cSTEP\u0085,\u3000\u212a", // Python's space and case; KELVIN SIGN is k
		"\u0130,ſtep,\ufeffa,a\u200b",     // look like names, but are not
		"\xff,\xffa,a\x80",                // not UTF-8
		"nope,NOPE,late",                  // pending, once
		strings.Repeat("x", 70) + ",a",    // longer than any name
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		libraries := map[string]library{
			"one": newLibrary(t, "one", []string{"step", "io", "a", "k"}, map[string][]string{"low": {"a"}}),
			"two": newLibrary(t, "two", []string{"step", "b"}, map[string][]string{"io": {"b"}, "low": {}}),
		}
		one := modelNamespace{newSet("step", "io", "a", "k"), map[string]set{"low": newSet("a")}, false}
		two := modelNamespace{newSet("step", "b"), map[string]set{"io": newSet("b"), "low": {}, "ends": newSet("a", "b", "late")}, false}
		m := newModel()
		m.namespaces["one"], m.namespaces["two"] = one, two
		r := registry.New(registry.Logger(slog.New(new(recorder)))) // so that every record is made
		libraries["one"].add(t, r)
		libraries["two"].add(t, r, registry.Preset("ends", "a", "b", "late"))

		wantEnabled, wantPending := m.resolve(spec)
		enabled, pending := r.Resolve(spec)
		require.Equal(t, wantEnabled.list(), enabled)
		require.Equal(t, wantPending.list(), pending)

		m.spec, m.pin = spec, nil
		require.Equal(t, pending, r.SetSpec(spec))
		requireAsModel(t, m, r, libraries)

		require.NoError(t, r.Unregister("one"))
		delete(m.namespaces, "one")
		requireAsModel(t, m, r, map[string]library{"two": libraries["two"]})
		libraries["one"].add(t, r)
		m.namespaces["one"] = one
		requireAsModel(t, m, r, libraries)

		pin := strings.Split(spec, ",")
		if len(pin) > 100 {
			pin = pin[:100]
		}
		if r.Pin(pin...) == nil {
			m.pin = set{}
			for _, name := range pin {
				m.pin[pythonLower(pythonStrip(name))] = true
			}
		}
		requireAsModel(t, m, r, libraries)
	})
}
