// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// Benchmarks don't run in a plain go test, and what does not run rots. Each checks what it
// measures, so once round is a test of it.
func TestEveryBenchmarkRunsOnceAndIsCorrect(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "-test.run=^$", "-test.bench=.", "-test.benchtime=1x").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("\nPASS\n")) {
		t.Fatalf("%v\n%s", err, out)
	}
}
