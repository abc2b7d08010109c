// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"

	"github.com/spangate/spangate/bench/internal/result"
)

// Options says how much to measure.
type Options struct {
	Rounds    int // of time
	Few, Many int // rollouts of the jobs whose times are subtracted
	Counts    int // rounds of instructions; none where it is 0
	Progress  io.Writer
}

// row is what is measured.
type row struct {
	name  string
	build Build
	spec  string
}

// The rows that others are compared with.
const off, compiledOut = 0, 1

var rows = []row{
	{"everything off", Instrumented, ""},
	{"compiled out, `-tags spangate_off`", CompiledOut, ""},
	{"no instrumentation code", Bare, ""},
	{"per_rollout, no server, no http_client", Instrumented, "per_rollout,-server,-http_client"},
	{"default", Instrumented, "default"},
	{"per_rollout", Instrumented, "per_rollout"},
	{"all", Instrumented, "all"},
}

// Report is everything that one run found. It is what the JSON file holds.
type Report struct {
	Go         string `json:"go"`
	GOOS       string `json:"goos"`
	GOARCH     string `json:"goarch"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Rounds     int    `json:"rounds"`
	Counts     int    `json:"counts"` // rounds of instructions
	Rows       []Row  `json:"rows"`
	// OffToOut is how many times the instructions of the build without sites those of the build
	// with all of them off are; nil if they were not counted.
	OffToOut *OffToOut `json:"off_to_compiled_out,omitempty"`
}

// OffToOut has that ratio of all instructions, and of those outside Go's runtime.
type OffToOut struct {
	All     result.Estimate `json:"all"`
	Program result.Estimate `json:"program"`
}

// Row is what a rollout costs in one build, with one spec.
type Row struct {
	Name  string  `json:"name"`
	Spec  string  `json:"spec"`
	Spans float64 `json:"spans"`
	Bytes float64 `json:"bytes"` // exported: OTLP in protobuf, not compressed
	// CPU is user and system time of all four processes, in nanoseconds; More is how much of
	// it is beyond the first row's, and Ratio how many times that.
	CPU   result.Estimate `json:"cpu_ns"`
	More  result.Estimate `json:"more_ns"`
	Ratio result.Estimate `json:"ratio"`
	// Instructions are those of user space, of all four processes; nil if they were not counted.
	Instructions *Instructions `json:"instructions,omitempty"`
}

// Instructions of a rollout: all of them, those outside Go's runtime, those in functions of
// spangate, and how many times the first row's all of them are.
type Instructions struct {
	All      result.Estimate `json:"all"`
	Program  result.Estimate `json:"program"`
	Spangate result.Estimate `json:"spangate"`
	Ratio    result.Estimate `json:"ratio"`
}

// Measure measures every row.
func Measure(ctx context.Context, o Options) (r *Report, err error) {
	if _, err := exec.LookPath("valgrind"); err != nil && o.Counts > 0 {
		return nil, ErrNoValgrind
	}
	p, err := NewPrograms(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.measure(ctx, o)
}

func (p *Programs) measure(ctx context.Context, o Options) (*Report, error) {
	r := &Report{
		Go: runtime.Version(), GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, GOMAXPROCS: runtime.GOMAXPROCS(0),
		Rounds: o.Rounds, Counts: o.Counts, Rows: make([]Row, len(rows)),
	}
	for i, row := range rows {
		r.Rows[i] = Row{Name: row.name, Spec: row.spec}
		if err := r.Rows[i].countSpans(ctx, p, row, o.Many); err != nil {
			return nil, err
		}
	}
	if err := r.time(ctx, p, o); err != nil {
		return nil, err
	}
	return r, r.count(ctx, p, o)
}

// countSpans has the example receive the spans itself: it knows how many belong to a rollout.
func (r *Row) countSpans(ctx context.Context, p *Programs, of row, rollouts int) error {
	job, _, err := p.run(ctx, job{build: of.build, spec: of.spec, rollouts: rollouts})
	if err != nil {
		return err
	}
	r.Spans = float64(job.Received.Spans) / float64(rollouts)
	r.Bytes = float64(job.Received.Bytes) / float64(rollouts)
	return nil
}

// time fills in what is time.
func (r *Report) time(ctx context.Context, p *Programs, o Options) error {
	sink := newSink()
	defer sink.Close()
	perRollout := make([][]float64, len(rows))
	for round := range o.Rounds {
		began := time.Now()
		for i, row := range rows {
			few, many := job{build: row.build, spec: row.spec, rollouts: o.Few, to: sink.URL}, job{build: row.build, spec: row.spec, rollouts: o.Many, to: sink.URL}
			_, less, err := p.run(ctx, few)
			if err != nil {
				return err
			}
			_, all, err := p.run(ctx, many)
			if err != nil {
				return err
			}
			perRollout[i] = append(perRollout[i], float64(all-less)/float64(o.Many-o.Few))
		}
		fmt.Fprintf(o.Progress, "round %d of %d: %v\n", round+1, o.Rounds, time.Since(began).Round(100*time.Millisecond))
	}
	for i := range rows {
		r.Rows[i].CPU = result.NewEstimate(perRollout[i])
		r.Rows[i].More = result.NewEstimate(each(perRollout[i], perRollout[off], func(a, b float64) float64 { return a - b }))
		r.Rows[i].Ratio = result.NewEstimate(each(perRollout[i], perRollout[off], over))
	}
	return nil
}

// count fills in instructions.
func (r *Report) count(ctx context.Context, p *Programs, o Options) error {
	if o.Counts == 0 {
		return nil
	}
	sink := newSink()
	defer sink.Close()
	all, program, spangate := make([][]float64, len(rows)), make([][]float64, len(rows)), make([][]float64, len(rows))
	for round := range o.Counts {
		began := time.Now()
		for i, row := range rows {
			n, err := p.instructions(ctx, row, sink.URL)
			if err != nil {
				return err
			}
			all[i], program[i], spangate[i] = append(all[i], n.all), append(program[i], n.program), append(spangate[i], n.spangate)
		}
		fmt.Fprintf(o.Progress, "count %d of %d: %v\n", round+1, o.Counts, time.Since(began).Round(100*time.Millisecond))
	}
	for i := range rows {
		r.Rows[i].Instructions = &Instructions{
			All: result.NewEstimate(all[i]), Program: result.NewEstimate(program[i]), Spangate: result.NewEstimate(spangate[i]),
			Ratio: result.NewEstimate(each(all[i], all[off], over)),
		}
	}
	r.OffToOut = &OffToOut{
		All:     result.NewEstimate(each(all[off], all[compiledOut], over)),
		Program: result.NewEstimate(each(program[off], program[compiledOut], over)),
	}
	return nil
}

func over(a, b float64) float64 { return a / b }

// each compares two rows round by round.
func each(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return out
}
