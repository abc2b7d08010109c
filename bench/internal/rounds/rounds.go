// SPDX-License-Identifier: Apache-2.0

// Package rounds runs this module's benchmarks in rounds: each round is one process that runs
// all of them once, one after the other. What disturbs the machine for a while then disturbs a
// few rows of one round, instead of every measurement of one row, as with go test -count.
package rounds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/spangate/spangate/bench/internal/module"
)

// Options says how much to measure.
type Options struct {
	Rounds    int
	BenchTime string        // of each benchmark in a round, as for go test -benchtime
	Python    time.Duration // of each row of the Python comparison in a round
	Progress  io.Writer
}

// Samples is what was measured.
type Samples struct {
	Machine Machine
	Names   []string // of rows, as in Check/an empty loop, in the order of the benchmarks
	// Values has a value a round, by name and unit: sec/op, allocs/op, B/op.
	Values map[string]map[string][]float64
}

// Machine is what the numbers are of.
type Machine struct {
	Go         string `json:"go"`
	GOOS       string `json:"goos"`
	GOARCH     string `json:"goarch"`
	CPU        string `json:"cpu"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Python     string `json:"python,omitempty"` // empty if there is none
	Rounds     int    `json:"rounds"`
	BenchTime  string `json:"benchtime"`
}

// Run measures.
func Run(ctx context.Context, o Options) (s *Samples, err error) {
	root, err := module.Dir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "spangate-rounds-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	program := filepath.Join(dir, "bench.test")
	if _, err := output(exec.CommandContext(ctx, "go", "test", "-c", "-o", program, module.Path)); err != nil {
		return nil, err
	}
	python, _ := exec.LookPath("python3") // without it there is no comparison, and the machine says so
	s = &Samples{
		Machine: Machine{Go: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0), Rounds: o.Rounds, BenchTime: o.BenchTime},
		Values:  make(map[string]map[string][]float64),
	}
	for i := range o.Rounds {
		began := time.Now()
		out, err := output(exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench=.", "-test.benchtime="+o.BenchTime))
		if err != nil {
			return nil, err
		}
		if python != "" {
			script := filepath.Join(root, "python", "nemo_lens_shaped.py")
			more, err := output(exec.CommandContext(ctx, python, script, fmt.Sprint(o.Python.Seconds())))
			if err != nil {
				return nil, err
			}
			out += more
		}
		if err := s.add(out); err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Progress, "round %d of %d: %v\n", i+1, o.Rounds, time.Since(began).Round(100*time.Millisecond))
	}
	return s, nil
}

func output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out), nil
}

// gomaxprocs is what Go appends to the name of a benchmark, except where it is 1.
var gomaxprocs = regexp.MustCompile(`-[0-9]+$`)

// add reads one round.
func (s *Samples) add(out string) error {
	r := benchfmt.NewReader(strings.NewReader(out), "round")
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok { // a line that begins like a benchmark and is none
			return fmt.Errorf("%v in\n%s", r.Result(), out)
		}
		for key, field := range map[string]*string{
			"goos": &s.Machine.GOOS, "goarch": &s.Machine.GOARCH, "cpu": &s.Machine.CPU, "python": &s.Machine.Python,
		} {
			*field = result.GetConfig(key)
		}
		name := strings.ReplaceAll(gomaxprocs.ReplaceAllString(string(result.Name), ""), "_", " ")
		if s.Values[name] == nil {
			s.Names = append(s.Names, name)
			s.Values[name] = make(map[string][]float64)
		}
		for _, v := range result.Values {
			s.Values[name][v.Unit] = append(s.Values[name][v.Unit], v.Value)
		}
	}
	return r.Err()
}
