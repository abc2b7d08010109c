// SPDX-License-Identifier: Apache-2.0

// Package callgrind counts the instructions that an operation executes, with valgrind's
// callgrind. Counts, unlike times, come out the same whatever else the machine does.
package callgrind

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spangate/spangate/bench/internal/module"
)

// ErrMissing is that there is no valgrind.
var ErrMissing = errors.New("valgrind is not installed (Debian and Ubuntu: apt-get install valgrind)")

const (
	// turns is how often an operation is done in one count: often enough that the twenty
	// instructions around the loop vanish, and done well before the scheduler's 10 ms are
	// over, since callgrind stops counting when the goroutine is preempted.
	turns = 200
	// repeats is how many counts there are. Their median is what is reported: now and then
	// one is cut short, and the seed of a map's hash makes one a little larger.
	repeats = 3
)

// Counter counts operations of package operation.
type Counter struct{ dir, program string }

// New builds what is to be counted. The caller has to close the counter.
func New() (*Counter, error) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return nil, ErrMissing
	}
	dir, err := os.MkdirTemp("", "spangate-callgrind-")
	if err != nil {
		return nil, err
	}
	c := &Counter{dir: dir, program: filepath.Join(dir, "counted")}
	// Without DWARF, which callgrind reads for nothing, and of a version it may not know.
	build := exec.Command("go", "build", "-ldflags=-w", "-o", c.program, module.Path+"/internal/operation/counted")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w\n%s", build, err, out), c.Close())
	}
	return c, nil
}

// Close removes what New built.
func (c *Counter) Close() error { return os.RemoveAll(c.dir) }

// Instructions returns how many instructions one turn of the operation takes.
func (c *Counter) Instructions(operation string) (float64, error) {
	var counts []float64
	for range repeats {
		n, err := c.once(operation)
		if err != nil {
			return 0, err
		}
		counts = append(counts, float64(n)/turns)
	}
	slices.Sort(counts)
	return counts[len(counts)/2], nil
}

func (c *Counter) once(operation string) (int, error) {
	file := filepath.Join(c.dir, "callgrind.out")
	cmd := exec.Command("valgrind", "--tool=callgrind", "--toggle-collect=main.counted", "--callgrind-out-file="+file,
		c.program, operation, strconv.Itoa(turns))
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	profile, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(profile)) {
		if count, ok := strings.CutPrefix(line, "summary: "); ok {
			return strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return 0, fmt.Errorf("%s: callgrind's profile has no summary", cmd)
}
