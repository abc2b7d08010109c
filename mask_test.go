// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spangate/spangate"
)

// masks generates masks, among them the empty mask, the full one, and single bits.
func masks() *rapid.Generator[spangate.Mask] {
	return rapid.OneOf(
		rapid.Just(spangate.Mask(0)),
		rapid.Just(^spangate.Mask(0)),
		rapid.Custom(func(t *rapid.T) spangate.Mask { return 1 << rapid.IntRange(0, 63).Draw(t, "bit") }),
		rapid.Custom(func(t *rapid.T) spangate.Mask { return spangate.Mask(rapid.Uint64().Draw(t, "mask")) }),
	)
}

// set returns m as a bitset.
func set(m spangate.Mask) *bitset.BitSet {
	b := bitset.New(64)
	for i := range uint(64) {
		b.SetTo(i, m&(1<<i) != 0)
	}
	return b
}

func TestMaskAgreesWithBitset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, g := masks().Draw(t, "m"), masks().Draw(t, "g")
		a, b := set(m), set(g)

		assert.True(t, set(m.With(g)).Equal(a.Union(b)), "With")
		assert.True(t, set(m.Without(g)).Equal(a.Difference(b)), "Without")
		assert.Equal(t, a.IntersectionCardinality(b) > 0, m.HasAny(g), "HasAny")
		assert.Equal(t, a.IsSuperSet(b), m.HasAll(g), "HasAll")
		assert.Equal(t, int(a.Count()), m.Count(), "Count")

		var want []spangate.Mask
		for i := range a.EachSet() {
			want = append(want, 1<<i)
		}
		assert.Equal(t, want, slices.Collect(m.Bits()), "Bits")
	})
}

func TestMaskKeepsTheLawsOfSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := masks().Draw(t, "a"), masks().Draw(t, "b"), masks().Draw(t, "c")
		const none = spangate.Mask(0)

		assert.Equal(t, a.With(b), b.With(a), "union commutes")
		assert.Equal(t, a.With(b).With(c), a.With(b.With(c)), "union associates")
		assert.Equal(t, a, a.With(a), "union is idempotent")
		assert.Equal(t, a, a.With(none), "the empty set is neutral")
		assert.Equal(t, a.Without(b).Without(c), a.Without(b.With(c)), "differences add up")
		assert.Equal(t, none, a.Without(a), "nothing is left of a set without itself")
		assert.Equal(t, a.With(b), a.Without(b).With(b), "a difference is undone by a union")
		assert.False(t, a.Without(b).HasAny(b), "a difference has no group of what was removed")
		assert.True(t, a.With(b).HasAll(b), "a union has all groups of its parts")
		assert.Equal(t, a.HasAny(b), b.HasAny(a), "overlap is symmetric")
		assert.Equal(t, a.HasAll(b) && b.HasAll(a), a == b, "== is equality of sets")
	})
}

func TestHasAnyOfTheEmptyMaskIsFalseAndHasAllIsTrue(t *testing.T) {
	for _, m := range []spangate.Mask{0, spangate.BitJob, ^spangate.Mask(0)} {
		assert.False(t, m.HasAny(0), "%v has any group of the empty mask", m)
		assert.True(t, m.HasAll(0), "%v has all groups of the empty mask", m)
	}
}

func TestMaskZeroValueIsTheEmptySet(t *testing.T) {
	var m spangate.Mask
	assert.Zero(t, m.Count())
	assert.Empty(t, slices.Collect(m.Bits()))
	assert.Equal(t, "0x0", m.String())
}

func TestMaskStringIsHexadecimal(t *testing.T) {
	assert.Equal(t, "0x701", spangate.PresetDefault.String())
	assert.Equal(t, "0xffffffffffffffff", (^spangate.Mask(0)).String())
}

func TestMaskBitsStopsEarly(t *testing.T) {
	var seen []spangate.Mask
	for bit := range spangate.PresetAll.Bits() {
		seen = append(seen, bit)
		if len(seen) == 2 {
			break
		}
	}
	require.Equal(t, []spangate.Mask{spangate.BitJob, spangate.BitCheckpoint}, seen)
}
