// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoValgrind is that there is no valgrind.
var ErrNoValgrind = errors.New("valgrind is not installed (Debian and Ubuntu: apt-get install valgrind)")

// The jobs whose instructions are counted, one less the other.
const countedFew, countedMany = 20, 120

// counts is instructions in user space, of all four processes.
type counts struct {
	all      float64
	program  float64 // less Go's runtime, whose scheduler has more to do the longer it takes
	spangate float64 // in functions of spangate itself; sites that are inlined are their callers'
}

// instructions returns how many one rollout takes.
func (p *Programs) instructions(ctx context.Context, of row, to string) (counts, error) {
	few, err := p.patiently(ctx, of, countedFew, to)
	if err != nil {
		return counts{}, err
	}
	many, err := p.patiently(ctx, of, countedMany, to)
	if err != nil {
		return counts{}, err
	}
	const n = countedMany - countedFew
	return counts{(many.all - few.all) / n, (many.program - few.program) / n, (many.spangate - few.spangate) / n}, nil
}

// patiently counts until nothing goes wrong, a few times: on a busy machine a process may be
// too slow for the example's patience, as valgrind makes it some forty times as slow.
func (p *Programs) patiently(ctx context.Context, of row, rollouts int, to string) (sum counts, err error) {
	for range 3 {
		if sum, err = p.count(ctx, of, rollouts, to); err == nil || ctx.Err() != nil {
			break
		}
	}
	return sum, err
}

func (p *Programs) count(ctx context.Context, of row, rollouts int, to string) (sum counts, err error) {
	dir, err := os.MkdirTemp(p.dir, "counted-")
	if err != nil {
		return counts{}, err
	}
	// Cachegrind, since callgrind fails over the signal that says that a server has ended.
	_, _, err = p.run(ctx, job{build: of.build, spec: of.spec, rollouts: rollouts, to: to,
		under: []string{"valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes", "--cachegrind-out-file=" + filepath.Join(dir, "%p")},
		env:   []string{"GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1"}})
	if err != nil {
		return counts{}, err
	}
	profiles, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return counts{}, err
	}
	if len(profiles) != 4 {
		return counts{}, fmt.Errorf("cachegrind counted in %d processes, of which there are 4", len(profiles))
	}
	for _, profile := range profiles {
		text, err := os.ReadFile(profile)
		if err != nil {
			return counts{}, err
		}
		if err := sum.add(string(text)); err != nil {
			return counts{}, fmt.Errorf("%s: %w", profile, err)
		}
	}
	return sum, nil
}

// add adds what a profile of cachegrind has. That is, for each function, a line "fn=" with
// its name and below it lines of a line number, which is 0 here, and a count.
func (c *counts) add(profile string) error {
	var runtime, spangate bool
	before := c.all
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "fn="); ok {
			runtime = strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/") || strings.HasPrefix(name, "internal/runtime/")
			spangate = strings.HasPrefix(name, "github.com/spangate/spangate")
			continue
		}
		number, count, _ := strings.Cut(line, " ")
		if _, err := strconv.Atoi(number); err != nil {
			continue
		}
		n, err := strconv.ParseFloat(count, 64)
		if err != nil {
			return fmt.Errorf("cachegrind's profile has the line %q", line)
		}
		c.all += n
		if !runtime {
			c.program += n
		}
		if spangate {
			c.spangate += n
		}
	}
	if c.all == before {
		return errors.New("cachegrind's profile has no counts")
	}
	return nil
}
