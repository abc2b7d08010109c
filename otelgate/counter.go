// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"
)

const (
	lines    = 1 << lineBits
	lineBits = 6
	// columns is how many counts share a line.
	columns = max(unsafe.Sizeof(cpu.CacheLinePad{}), 8) / 8
)

// counts is a table: each column is one count, which is the sum of its cells. A line is a cache line.
// Goroutines add in different lines, so they seldom wait for each other. Eight counts share a line,
// where a line has 64 bytes, so that a count takes 512 bytes and not 4 KiB.
type counts [lines][columns]atomic.Uint64

// counter is one column of a counts.
type counter struct {
	counts *counts
	column uint8
}

// add adds one. The line depends on the address of the goroutine's stack, which no two running
// goroutines share. The multiplication spreads addresses that differ in few bits.
func (c *counter) add() {
	var onStack byte
	hash := uint32(uintptr(unsafe.Pointer(&onStack))>>11) * 0x9E3779B1
	c.counts[hash>>(32-lineBits)][c.column%uint8(columns)].Add(1)
}

// sum returns the count. The zero counter has none, and its sum is 0.
func (c counter) sum() (n uint64) {
	if c.counts == nil {
		return 0
	}
	for i := range c.counts {
		n += c.counts[i][c.column].Load()
	}
	return n
}

// next returns a new counter: the column after that of c, or the first of a new table.
func (c counter) next() counter {
	if c.counts == nil || c.column+1 == uint8(columns) {
		return counter{counts: new(counts)}
	}
	return counter{c.counts, c.column + 1}
}
