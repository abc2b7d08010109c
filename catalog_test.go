// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// catalogOf returns a catalog of the first n bits, the groups called g0, g1, ….
func catalogOf(t testing.TB, n int, presets ...spangate.Preset) *spangate.Catalog {
	t.Helper()
	c, err := spangate.NewCatalog("mylib", groupsOf(n), presets)
	require.NoError(t, err)
	return c
}

func groupsOf(n int) []spangate.Group {
	groups := make([]spangate.Group, n)
	for i := range groups {
		groups[i] = spangate.Group{Name: fmt.Sprintf("g%d", i), Bit: 1 << i}
	}
	return groups
}

func TestEveryMaskOfEightGroupsSurvivesText(t *testing.T) {
	c := catalogOf(t, 8, spangate.Preset{Name: "low", Mask: 0x0f})
	seen := map[string]bool{}
	for m := range spangate.Mask(256) {
		text := c.Format(m)
		back, err := c.Parse(text)
		require.NoError(t, err)
		require.Equal(t, m, back, text)
		require.False(t, seen[text], "two masks have the text %q", text)
		seen[text] = true
	}
}

func TestCatalogHoldsSixtyFourGroups(t *testing.T) {
	c := catalogOf(t, spangate.MaxGroups)
	assert.Equal(t, ^spangate.Mask(0), c.All())
	for g := range c.Groups() {
		m, err := c.Parse(g.Name)
		require.NoError(t, err)
		assert.Equal(t, g.Bit, m)
	}
	m, err := c.Parse("all,-g0,-g63")
	require.NoError(t, err)
	assert.Equal(t, ^spangate.Mask(1|1<<63), m)
	back, err := c.Parse(c.Format(m))
	require.NoError(t, err)
	assert.Equal(t, m, back)
}

func TestGroupsAreInBitOrder(t *testing.T) {
	groups := groupsOf(20)
	slices.Reverse(groups)
	c, err := spangate.NewCatalog("mylib", groups, nil)
	require.NoError(t, err)
	assert.Equal(t, groupsOf(20), slices.Collect(c.Groups()))
	assert.Equal(t, "g19", groups[0].Name, "the caller's slice is unchanged")
}

func TestCatalogCopiesTheCallersSlices(t *testing.T) {
	groups := groupsOf(2)
	presets := append(make([]spangate.Preset, 0, 2), spangate.Preset{Name: "p", Mask: 1})
	c, err := spangate.NewCatalog("mylib", groups, presets)
	require.NoError(t, err)
	groups[0].Name, presets[0].Name = "changed", "changed"
	assert.Equal(t, "g0", slices.Collect(c.Groups())[0].Name)
	assert.Equal(t, []string{"p", "all"}, presetNames(c))
	assert.Zero(t, presets[:2][1], "the spare capacity of the caller's slice is not written")
}

func TestFormatWritesABitWithoutANameAsItsMask(t *testing.T) {
	assert.Equal(t, "", spangate.Gym.Format(0))
	assert.Equal(t, "job,server,http_client,rollout", spangate.Gym.Format(spangate.PresetDefault))
	assert.Equal(t, "sandbox,0x8000,0x8000000000000000", spangate.Gym.Format(spangate.BitSandbox|1<<15|1<<63))
	_, err := spangate.Parse("sandbox,0x8000")
	assert.ErrorIs(t, err, spangate.ErrUnknownName)
}

func TestLookupFoldsCaseAndTrimsNothing(t *testing.T) {
	for name, want := range map[string]spangate.Mask{
		"rollout":          spangate.BitRollout,
		"ROLLOUT":          spangate.BitRollout,
		"Default":          spangate.PresetDefault,
		"ALL":              spangate.PresetAll,
		"chec\u212Apoint":  spangate.BitCheckpoint,
		"CHEC\u212APOINT":  spangate.BitCheckpoint,
		" rollout":         0,
		"rollout ":         0,
		"":                 0,
		"-rollout":         0,
		"ro\u0142lout":     0,
		"\u017Ftep":        0,
		"http_cl\u0130ent": 0,
		strings.Repeat("\u212A", spangate.MaxNameLen+1): 0,
		"rollout\xff": 0,
	} {
		m, ok := spangate.Gym.Lookup(name)
		assert.Equal(t, want != 0, ok, "%q", name)
		assert.Equal(t, want, m, "%q", name)
	}
}

func TestCatalogAcceptsNamesThatFollowTheRule(t *testing.T) {
	long := strings.Repeat("x", spangate.MaxNameLen)
	for _, name := range []string{"a", "0", "_x", ".x", "a-b", "nvrx.ft", "per_step_2", long} {
		c, err := spangate.NewCatalog(name, []spangate.Group{{Name: name, Bit: 1}}, nil)
		require.NoError(t, err, name)
		m, err := c.Parse(strings.ToUpper(name))
		require.NoError(t, err, name)
		assert.Equal(t, spangate.Mask(1), m)
		assert.Equal(t, name, c.Namespace())
	}
}

// nameBytes are the bytes of a name, besides '-', which may not be first.
const nameBytes = "abcdefghijklmnopqrstuvwxyz0123456789_."

func TestCatalogAcceptsExactlyTheBytesOfTheNameRule(t *testing.T) {
	for b := range 256 {
		char := string([]byte{byte(b)})
		first := strings.Contains(nameBytes, char)
		for name, want := range map[string]bool{
			char:             first,
			char + "a":       first,
			"a" + char:       first || char == "-",
			"a" + char + "a": first || char == "-",
		} {
			for what, newCatalog := range map[string]func() (*spangate.Catalog, error){
				"namespace": func() (*spangate.Catalog, error) { return spangate.NewCatalog(name, nil, nil) },
				"group": func() (*spangate.Catalog, error) {
					return spangate.NewCatalog("n", []spangate.Group{{Name: name, Bit: 1}}, nil)
				},
				"preset": func() (*spangate.Catalog, error) {
					return spangate.NewCatalog("n", nil, []spangate.Preset{{Name: name}})
				},
			} {
				_, err := newCatalog()
				if want {
					assert.NoError(t, err, "%s %q", what, name)
				} else {
					assert.ErrorIs(t, err, spangate.ErrInvalidName, "%s %q", what, name)
				}
			}
		}
	}
}

// Each resembles an ASCII letter or digit: in its low byte, its lower case or its shape.
func TestCatalogRefusesLettersOutsideASCII(t *testing.T) {
	for _, name := range []string{
		"\u0080", "\u0161", "\u0130", "\u017f", "\u0430", "\u0660", "\u212a", "\uff10", "\uff21", "\uff41",
		"\U00010061", "\U0001d7ce", "\U0010ffff", "\xc2", "\xe2\x84", "\xf4\x8f\xbf", "\xed\xa0\x80", "\u200b", "\ufeff",
	} {
		for _, name := range []string{name, "a" + name, name + "a"} {
			_, err := spangate.NewCatalog("n", []spangate.Group{{Name: name, Bit: 1}}, nil)
			assert.ErrorIs(t, err, spangate.ErrInvalidName, "%q", name)
			assert.ErrorContains(t, err, "allowed", "%q", name)
		}
	}
}

func TestCatalogRefusesInvalidRows(t *testing.T) {
	type (
		groups  = []spangate.Group
		presets = []spangate.Preset
	)
	long := strings.Repeat("x", spangate.MaxNameLen+1)
	for _, tt := range []struct {
		what      string
		namespace string
		groups    groups
		presets   presets
		name      string // of the invalid row
		reason    error
	}{
		{"an empty namespace", "", nil, nil, "", spangate.ErrInvalidName},
		{"a namespace with a capital", "Mine", nil, nil, "Mine", spangate.ErrInvalidName},
		{"an empty group name", "n", groups{{Name: "", Bit: 1}}, nil, "", spangate.ErrInvalidName},
		{"an empty preset name", "n", nil, presets{{Name: ""}}, "", spangate.ErrInvalidName},
		{"a capital", "n", groups{{Name: "Job", Bit: 1}}, nil, "Job", spangate.ErrInvalidName},
		{"a comma", "n", groups{{Name: "a,b", Bit: 1}}, nil, "a,b", spangate.ErrInvalidName},
		{"a space", "n", groups{{Name: "a b", Bit: 1}}, nil, "a b", spangate.ErrInvalidName},
		{"a letter outside ASCII", "n", groups{{Name: "jöb", Bit: 1}}, nil, "jöb", spangate.ErrInvalidName},
		{"bytes that are not UTF-8", "n", groups{{Name: "a\xff", Bit: 1}}, nil, "a\xff", spangate.ErrInvalidName},
		{"a minus first", "n", groups{{Name: "-a", Bit: 1}}, nil, "-a", spangate.ErrInvalidName},
		{"a name of 64 bytes", "n", groups{{Name: long, Bit: 1}}, nil, long, spangate.ErrInvalidName},
		{"a group called all", "n", groups{{Name: "all", Bit: 1}}, nil, "all", spangate.ErrReservedName},
		{"a preset called all", "n", groups{{Name: "a", Bit: 1}}, presets{{Name: "all", Mask: 1}}, "all", spangate.ErrReservedName},
		{"two groups of one name", "n", groups{{Name: "a", Bit: 1}, {Name: "a", Bit: 2}}, nil, "a", spangate.ErrDuplicateName},
		{"two presets of one name", "n", groups{{Name: "a", Bit: 1}}, presets{{Name: "p"}, {Name: "p"}}, "p", spangate.ErrDuplicateName},
		{"a group and a preset of one name", "n", groups{{Name: "a", Bit: 1}}, presets{{Name: "a"}}, "a", spangate.ErrDuplicateName},
		{"no bit", "n", groups{{Name: "a"}}, nil, "a", spangate.ErrInvalidBit},
		{"two bits", "n", groups{{Name: "a", Bit: 3}}, nil, "a", spangate.ErrInvalidBit},
		{"a bit that is taken", "n", groups{{Name: "a", Bit: 4}, {Name: "b", Bit: 4}}, nil, "b", spangate.ErrDuplicateBit},
		{"a preset of a bit that no group has", "n", groups{{Name: "a", Bit: 1}}, presets{{Name: "p", Mask: 3}}, "p", spangate.ErrUnnamedBit},
		{"a 65th group", "n", append(groupsOf(64), spangate.Group{Name: "g64", Bit: 1}), nil, "g64", spangate.ErrTooManyGroups},
	} {
		c, err := spangate.NewCatalog(tt.namespace, tt.groups, tt.presets)
		assert.Nil(t, c, tt.what)
		var e *spangate.CatalogError
		if !assert.ErrorAs(t, err, &e, tt.what) {
			continue
		}
		assert.ErrorIs(t, err, tt.reason, tt.what)
		assert.Equal(t, tt.name, e.Name, tt.what)
		assert.Equal(t, tt.namespace, e.Namespace, tt.what)
		assert.True(t, strings.HasPrefix(err.Error(), "spangate: catalog "), err)
		assert.Panics(t, func() { spangate.MustCatalog(tt.namespace, tt.groups, tt.presets) }, tt.what)
	}
}

func TestExtendKeepsTheGroupsAndReplacesThePresets(t *testing.T) {
	base := catalogOf(t, 2, spangate.Preset{Name: "default", Mask: 1}, spangate.Preset{Name: "old", Mask: 2})
	c, err := base.Extend("sub",
		[]spangate.Group{{Name: "extra", Bit: 1 << 63}},
		[]spangate.Preset{{Name: "default", Mask: 1 | 1<<63}})
	require.NoError(t, err)

	assert.Equal(t, "sub", c.Namespace())
	assert.Equal(t, "g0,g1,extra", c.Format(c.All()))
	assert.Equal(t, []string{"default", "all"}, presetNames(c))
	m, _ := c.Lookup("default")
	assert.Equal(t, spangate.Mask(1|1<<63), m)
	_, known := c.Lookup("old")
	assert.False(t, known)

	assert.Equal(t, "g0,g1", base.Format(base.All()), "the base is unchanged")
	m, _ = base.Lookup("default")
	assert.Equal(t, spangate.Mask(1), m)
}

func TestExtendRefusesNamesAndBitsOfTheBase(t *testing.T) {
	base := catalogOf(t, 2)
	_, err := base.Extend("sub", []spangate.Group{{Name: "g0", Bit: 4}}, nil)
	assert.ErrorIs(t, err, spangate.ErrDuplicateName)
	_, err = base.Extend("sub", []spangate.Group{{Name: "new", Bit: 2}}, nil)
	assert.ErrorIs(t, err, spangate.ErrDuplicateBit)
	_, err = base.Extend("sub", nil, []spangate.Preset{{Name: "g1"}})
	assert.ErrorIs(t, err, spangate.ErrDuplicateName)
}

func TestZeroCatalogHasNoNames(t *testing.T) {
	var c spangate.Catalog
	assert.Zero(t, c.All())
	assert.Empty(t, c.Namespace())
	assert.Empty(t, slices.Collect(c.Groups()))
	assert.Empty(t, slices.Collect(c.Presets()))
	assert.Equal(t, "0x1", c.Format(1))
	assert.Equal(t, []string{"0x1"}, c.Names(1))
	_, ok := c.Group("")
	assert.False(t, ok)
	_, ok = c.Preset("all")
	assert.False(t, ok)
	m, err := c.Parse("")
	assert.NoError(t, err)
	assert.Zero(t, m)
	_, err = c.Parse("all")
	assert.ErrorIs(t, err, spangate.ErrUnknownName)
}

func TestAllOfACatalogWithoutGroupsIsEmpty(t *testing.T) {
	c := catalogOf(t, 0)
	m, err := c.Parse("all")
	assert.NoError(t, err)
	assert.Zero(t, m)
}

func TestCatalogIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				m, err := spangate.Parse("Default,-job")
				if err != nil || m != spangate.CrossProcessSpine || spangate.Gym.Format(m) != "server,http_client,rollout" {
					t.Errorf("got %v, %v", m, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNamesOfAMask(t *testing.T) {
	for m, want := range map[spangate.Mask][]string{
		0:                                   {},
		spangate.PresetDefault:              {"job", "server", "http_client", "rollout"},
		spangate.BitSandbox | 1<<15 | 1<<63: {"sandbox", "0x8000", "0x8000000000000000"},
	} {
		assert.Equal(t, want, spangate.Gym.Names(m), "%v", m)
		assert.Equal(t, strings.Join(want, ","), spangate.Gym.Format(m), "%v", m)
	}
}

func TestGroupAndPresetFindNamesOfTheirKindInAnyCase(t *testing.T) {
	c := catalogOf(t, 64, spangate.Preset{Name: "low", Mask: 1, Doc: "one group, as g0"}, spangate.Preset{Name: "none"})
	for g := range c.Groups() {
		for _, name := range []string{g.Name, strings.ToUpper(g.Name)} {
			got, ok := c.Group(name)
			assert.True(t, ok, name)
			assert.Equal(t, g, got, name)
			preset, ok := c.Preset(name)
			assert.False(t, ok, name)
			assert.Zero(t, preset, name)
		}
	}
	for p := range c.Presets() {
		for _, name := range []string{p.Name, strings.ToUpper(p.Name)} {
			got, ok := c.Preset(name)
			assert.True(t, ok, name)
			assert.Equal(t, p, got, name)
			group, ok := c.Group(name)
			assert.False(t, ok, name)
			assert.Zero(t, group, name)
		}
	}
	for _, name := range []string{"", "g64", " g0", "g0 ", "-g0", "lo", "l\xffw", "0x1"} {
		_, ok := c.Group(name)
		assert.False(t, ok, "%q", name)
		_, ok = c.Preset(name)
		assert.False(t, ok, "%q", name)
	}
}

func TestPositionIsTheIndexOfASingleBitElseMinusOne(t *testing.T) {
	for i := range 64 {
		assert.Equal(t, i, spangate.Group{Bit: 1 << i}.Position())
		assert.Equal(t, -1, spangate.Group{Bit: 1<<i | 1<<((i+1)%64)}.Position(), "two bits")
	}
	assert.Equal(t, -1, spangate.Group{}.Position())
}
