// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// measure times one turn of loop, which does its operation n times.
func measure(b *testing.B, loop func(n int)) {
	b.Helper()
	// Callgrind mistakes a moved stack or a preempted goroutine for the end of counted.
	growStack()
	runtime.Gosched() // begins a time slice
	b.ReportAllocs()
	b.ResetTimer()
	counted(loop, b.N)
}

// measureWarm is measure after a warm-up: Go fills its caches of type assertions at about one miss
// in a thousand.
func measureWarm(b *testing.B, loop func(n int)) {
	b.Helper()
	loop(10_000)
	measure(b, loop)
}

// growStack makes the goroutine's stack large enough for any loop.
//
//go:noinline
func growStack() byte {
	var frame [64 << 10]byte
	return frame[runtime.NumGoroutine()]
}

// counted is the function in which cmd/budgets counts instructions. It finds it by this name.
// The loop is a function of its own so that it begins on a multiple of 32 bytes: one that crosses
// such a boundary may take twice as long.
//
//go:noinline
func counted(loop func(n int), n int) { loop(n) }

// Benchmarks do not run in a plain go test. Each of them checks what it measures, so one turn is
// a test of it.
func TestEveryBenchmarkRunsAndIsCorrect(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "-test.run=^$", "-test.bench=.", "-test.benchtime=1x").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("\nPASS\n")) {
		t.Fatalf("%v\n%s", err, out)
	}
}
