// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"iter"
	"math/bits"
	"strconv"
)

// MaxGroups is how many groups a [Catalog] can have: one for each bit of a [Mask].
const MaxGroups = 64

// Mask is a set of span groups, one bit for each.
//
// The zero value is the empty set. A Mask is a value: == is set equality, copies are
// independent, and no method changes its receiver. Only a [Catalog] knows what a bit means,
// so a Mask prints as a number; see [Catalog.Format] for names.
type Mask uint64

// HasAny reports whether at least one group of g is in m. It is false for the empty g.
func (m Mask) HasAny(g Mask) bool { return m&g != 0 }

// HasAll reports whether every group of g is in m. It is true for the empty g.
func (m Mask) HasAll(g Mask) bool { return m&g == g }

// With returns the union of m and g.
func (m Mask) With(g Mask) Mask { return m | g }

// Without returns the groups of m that are not in g.
func (m Mask) Without(g Mask) Mask { return m &^ g }

// Count returns the number of groups in m.
func (m Mask) Count() int { return bits.OnesCount64(uint64(m)) }

// Bits yields the groups of m as single-bit masks, lowest bit first.
func (m Mask) Bits() iter.Seq[Mask] {
	return func(yield func(Mask) bool) {
		for rest := m; rest != 0; rest &= rest - 1 {
			if !yield(rest & -rest) {
				return
			}
		}
	}
}

// String returns m in hexadecimal, as in 0x701.
func (m Mask) String() string {
	return "0x" + strconv.FormatUint(uint64(m), 16)
}

// position returns the index of the lowest bit of m, 64 for the empty m.
func (m Mask) position() int { return bits.TrailingZeros64(uint64(m)) }
