// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spangate/spangate"
)

// seeds are specs with a special case each. testdata/fuzz has the inputs that fuzzing found.
var seeds = []string{
	"",                           // nothing
	"default,sandbox",            // a usual spec
	" Default , SANDBOX ",        // space and case
	"-sandbox,all",               // an exclusion first
	"all,-all",                   // everything excluded
	"-,- job,--job",              // a minus without a name, before space, doubled
	",,job,,",                    // empty entries
	"rollouts,Job",               // a typo beside a name
	"\x1cjob\x1d,\x1estep\x1f",   // ASCII separators: space in Python, not in Unicode
	"\u0085job\u00a0,\u3000step", // space outside ASCII
	"\u200bjob,\ufeffstep",       // invisible, but no space
	"chec\u212Apoint,chec\u212A", // KELVIN SIGN folds to k
	"\u017Ftep,http_cl\u0130ent", // LONG S and dotted I do not fold to ASCII
	"job\x00,\xff,\xe2\x84,step", // NUL, invalid UTF-8, a truncated KELVIN SIGN
	"0x701,1793",                 // numbers are not names
	"nvrx.ft,a-b,-a-b,0",         // punctuation in the second catalog's names
	strings.Repeat("\u212A", 64), // longer than a name while folding
}

// fuzzed are the catalogs that every input is tried with.
var fuzzed = []*spangate.Catalog{
	spangate.Gym,
	spangate.MustCatalog("mylib", []spangate.Group{
		{Name: "nvrx.ft", Bit: 1 << 63}, {Name: "a-b", Bit: 1 << 7}, {Name: "0", Bit: 1}, {Name: "k", Bit: 2},
	}, []spangate.Preset{{Name: "quiet", Mask: 0}, {Name: "kk", Mask: 3}}),
}

// naive is an independent Resolve. It returns the names of the groups that are on and the unknown
// names.
func naive(c *spangate.Catalog, spec string) (on map[string]bool, unknown []string) {
	members := map[string][]string{}
	for g := range c.Groups() {
		members[g.Name] = []string{g.Name}
		members["all"] = append(members["all"], g.Name)
	}
	for p := range c.Presets() {
		if p.Name == "all" {
			continue
		}
		members[p.Name] = []string{}
		for g := range c.Groups() {
			if p.Mask&g.Bit != 0 {
				members[p.Name] = append(members[p.Name], g.Name)
			}
		}
	}

	on = map[string]bool{}
	var excluded []string
	for _, entry := range strings.Split(spec, ",") {
		entry = strings.Trim(entry, pythonSpace)
		name, exclude := strings.CutPrefix(entry, "-")
		if entry == "" {
			continue
		}
		groups, ok := members[strings.Map(pythonLowerRune, name)]
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		for _, g := range groups {
			if exclude {
				excluded = append(excluded, g)
			} else {
				on[g] = true
			}
		}
	}
	for _, g := range excluded {
		delete(on, g)
	}
	return on, unknown
}

// pythonSpace has every character c with c.isspace() in CPython 3.11.
const pythonSpace = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006" +
	"\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// pythonLowerRune is str.lower for the runes that it turns into ASCII.
func pythonLowerRune(r rune) rune {
	const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	if i := strings.IndexRune(upper, r); i >= 0 && r != utf8.RuneError {
		return rune(lower[i])
	}
	if r == '\u212A' {
		return 'k'
	}
	return r
}

// named returns the names of the groups of m.
func named(c *spangate.Catalog, m spangate.Mask) map[string]bool {
	names := map[string]bool{}
	for g := range c.Groups() {
		if m.HasAny(g.Bit) {
			names[g.Name] = true
		}
	}
	return names
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		for _, c := range fuzzed {
			checkParse(t, c, spec)
		}
	})
}

func checkParse(t *testing.T, c *spangate.Catalog, spec string) {
	m, err := c.Parse(spec)
	resolved, resolveUnknown := c.Resolve(spec)

	if len(spec) > spangate.MaxSpecLen {
		if err == nil || m != 0 || resolved != 0 || len(resolveUnknown) != 1 {
			t.Fatalf("a spec of %d bytes was read: %v, %v; %v, %q", len(spec), m, err, resolved, resolveUnknown)
		}
		return // naive has no limit
	}

	// Parse, Resolve and naive agree.
	on, unknown := naive(c, spec)
	if !slices.Equal(resolveUnknown, unknown) {
		t.Fatalf("%q: Resolve finds %q unknown, naive %q", spec, resolveUnknown, unknown)
	}
	if (err == nil) != (len(unknown) == 0) {
		t.Fatalf("%q: Parse returns %v, naive finds %q unknown", spec, err, unknown)
	}
	if got := named(c, resolved); !equalSets(got, on) {
		t.Fatalf("%q resolves to %v, by naive to %v", spec, got, on)
	}
	if err == nil && m != resolved {
		t.Fatalf("%q parses to %v and resolves to %v", spec, m, resolved)
	}

	// On an error the mask is zero, each offset is right, and a target is unchanged.
	if err != nil {
		e := err.(*spangate.ParseError)
		if m != 0 || e.Spec != spec || len(e.Unknown) != len(unknown) {
			t.Fatalf("%q: mask %v, error %#v", spec, m, e)
		}
		for i, u := range e.Unknown {
			if u.Name != unknown[i] || spec[u.Offset:][:len(u.Name)] != u.Name {
				t.Fatalf("%q: %q is not at byte %d", spec, u.Name, u.Offset)
			}
			if _, known := c.Lookup(u.Suggestion); u.Suggestion != "" && !known {
				t.Fatalf("%q: suggests %q, which is unknown", spec, u.Suggestion)
			}
		}
		if n := len(err.Error()); n > 16<<10 {
			t.Fatalf("a message of %d bytes", n)
		}
	}
	target := c.Select(c.All())
	before := target
	if target.UnmarshalText([]byte(spec)) != nil && target != before {
		t.Fatalf("%q failed to decode and left %v", spec, target)
	}

	// The order of entries does not matter.
	entries := strings.Split(spec, ",")
	slices.Reverse(entries)
	if back, _ := c.Resolve(strings.Join(entries, ",")); back != resolved {
		t.Fatalf("%q is %v, reversed %v", spec, resolved, back)
	}

	// Parse reverses Format.
	if back, err := c.Parse(c.Format(resolved)); err != nil || back != resolved {
		t.Fatalf("%v is written %q, which parses to %v, %v", resolved, c.Format(resolved), back, err)
	}
}

func equalSets(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !b[name] {
			return false
		}
	}
	return true
}

func FuzzFormat(f *testing.F) {
	f.Add(uint64(0))                       // the empty set
	f.Add(uint64(spangate.PresetAll))      // every group of Gym
	f.Add(uint64(1) << 15)                 // the first bit that Gym does not name
	f.Add(^uint64(0))                      // every bit
	f.Add(uint64(1)<<63 | 1<<7 | 1<<0 | 2) // every group of the second catalog
	f.Fuzz(func(t *testing.T, word uint64) {
		for _, c := range fuzzed {
			m := spangate.Mask(word)
			text, err := c.Select(m).MarshalText()
			if (err == nil) != c.All().HasAll(m) {
				t.Fatalf("%v of %v marshals to %q, %v", m, c.All(), text, err)
			}
			if err != nil {
				m = m & c.All()
				if _, err := c.Parse(c.Format(spangate.Mask(word))); err == nil {
					t.Fatalf("%q parses, though it has bits without a name", c.Format(spangate.Mask(word)))
				}
			}
			back, err := c.Parse(c.Format(m))
			if err != nil || back != m {
				t.Fatalf("%v is written %q, which parses to %v, %v", m, c.Format(m), back, err)
			}
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range seeds[:16] {
		doc, _ := json.Marshal(s)
		f.Add(doc)
	}
	for _, doc := range []string{
		`null`,             // leaves a target unchanged, as everywhere in encoding/json
		`1793`,             // a mask is not a spec
		`["job"]`,          // neither is a list
		`"job`,             // truncated
		`"\ud800"`,         // half a surrogate pair
		`"\u212a"`,         // folds to k
		`{"Mask":1}`,       // the fields of the struct
		`"default" "step"`, // trailing junk
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, c := range fuzzed {
			before := c.Select(1)
			s := before
			if err := json.Unmarshal(doc, &s); err != nil && s != before {
				t.Fatalf("%q failed to decode (%v) and left %v", doc, err, s)
			}
			if s.Catalog != c || !c.All().HasAll(s.Mask) {
				t.Fatalf("%q decodes to %v", doc, s)
			}
		}
	})
}
