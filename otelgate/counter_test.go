// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/sys/cpu"

	"github.com/spangate/spangate"
)

func TestCountersInOneLineAreSeparate(t *testing.T) {
	var c counter
	assert.Zero(t, c.sum(), "the zero value")
	counters := make([]counter, 3*columns+1)
	for i := range counters {
		c = c.next()
		counters[i] = c
	}
	assert.Same(t, counters[0].counts, counters[columns-1].counts)
	assert.NotSame(t, counters[0].counts, counters[columns].counts)

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range counters {
				for range i {
					counters[i].add()
				}
			}
		})
	}
	group.Wait()
	for i := range counters {
		assert.EqualValues(t, 8*i, counters[i].sum(), i)
	}
}

// Processors wait for each other only if they write to the same cache line.
func TestLinesOfCountsAreCacheLines(t *testing.T) {
	line := max(unsafe.Sizeof(cpu.CacheLinePad{}), 8)
	assert.Equal(t, line, unsafe.Sizeof(counts{}[0]))
	p, err := NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate))
	require.NoError(t, err)
	for i := range 100 {
		p.Tracer(fmt.Sprint(i))
		require.Zero(t, uintptr(unsafe.Pointer(p.origin.count.counts))%line)
	}
}

// Goroutines that run at once must not all add in few lines.
func TestGoroutinesAddInDifferentLines(t *testing.T) {
	const goroutines = 4 * lines
	c := counter{}.next()
	done := make(chan struct{})
	var added, ended sync.WaitGroup
	for range goroutines {
		added.Add(1)
		ended.Go(func() {
			c.add()
			added.Done()
			<-done // keeps the stack
		})
	}
	added.Wait()
	close(done)
	ended.Wait()
	used, most := 0, uint64(0)
	for i := range c.counts {
		n := c.counts[i][c.column].Load()
		most = max(most, n)
		if n > 0 {
			used++
		}
	}
	assert.EqualValues(t, goroutines, c.sum())
	assert.Greater(t, used, lines/2)
	assert.Less(t, most, uint64(goroutines/4))
}

func TestAddAllocatesNothing(t *testing.T) {
	c := counter{}.next()
	assert.Zero(t, testing.AllocsPerRun(100, c.add))
}

// BenchmarkAdd has goroutines add to one count. Run it with -cpu 1,2 on a quiet machine: the difference
// between the two is the time that they wait for each other.
func BenchmarkAdd(b *testing.B) {
	c := counter{}.next()
	b.Run("counter", func(b *testing.B) { inParallel(b, c.add) })
	var word atomic.Uint64
	b.Run("one word", func(b *testing.B) { inParallel(b, func() { word.Add(1) }) })
}

func inParallel(b *testing.B, f func()) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f()
		}
	})
}
