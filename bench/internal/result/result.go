// SPDX-License-Identifier: Apache-2.0

// Package result turns what was measured into what is shown: medians with their spread,
// ratios, and verdicts on the budgets that are about time.
package result

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/spangate/spangate/bench/internal/rounds"
)

// Report is everything that one run found. It is what the JSON file holds.
type Report struct {
	Machine  rounds.Machine `json:"machine"`
	Verdicts []Verdict      `json:"verdicts"`
	Sections []Section      `json:"sections"`
}

// Section is one benchmark.
type Section struct {
	Benchmark string `json:"benchmark"`
	Title     string `json:"title"`
	Baseline  string `json:"baseline"` // the row that Row.Ratio is to
	Rows      []Row  `json:"rows"`
}

// Row is one line of a benchmark.
type Row struct {
	Name   string   `json:"name"`
	Nanos  Estimate `json:"ns"`
	Ratio  Estimate `json:"ratio"`
	Allocs *float64 `json:"allocs,omitempty"` // nil where none were counted
}

// Estimate is the median of a sample, and what the median lies between with 95 % confidence.
// Least is the least of the sample, which says most about a row where others use the machine
// too: they only ever slow it.
type Estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Least  float64 `json:"least"`
}

// Verdict is the outcome for one budget of time.
type Verdict struct {
	What   string   `json:"what"`
	Budget float64  `json:"budget"`
	Found  Estimate `json:"found"`
	Says   string   `json:"says"`
}

// New makes a report of s. It fails if a benchmark is in no section or a section or budget
// has no benchmark, unless that is of Python and there is none.
func New(s *rounds.Samples) (*Report, error) {
	r := &Report{Machine: s.Machine}
	python := s.Machine.Python != ""
	for _, of := range sections {
		section := Section{Benchmark: of.benchmark, Title: of.title, Baseline: of.baseline}
		baseline := of.benchmark + "/" + of.baseline
		for _, name := range s.Names {
			row, ok := strings.CutPrefix(name, of.benchmark+"/")
			if !ok {
				continue
			}
			ratio, err := ratio(s, name, baseline)
			if err != nil {
				return nil, err
			}
			section.Rows = append(section.Rows, Row{
				Name:   row,
				Nanos:  NewEstimate(scaled(s.Values[name]["sec/op"], 1e9)),
				Ratio:  ratio,
				Allocs: allocs(s.Values[name]["allocs/op"]),
			})
		}
		if len(section.Rows) > 0 {
			r.Sections = append(r.Sections, section)
		} else if of.benchmark != "Python" || python {
			return nil, fmt.Errorf("there is no benchmark for the section %s", of.benchmark)
		}
	}
	for _, name := range s.Names {
		benchmark, _, _ := strings.Cut(name, "/")
		if _, ok := r.Section(benchmark); !ok {
			return nil, fmt.Errorf("the benchmark %s is in no section", benchmark)
		}
	}
	for _, b := range budgets {
		if strings.HasPrefix(b.of, "Python/") && !python {
			continue
		}
		found, err := ratio(s, b.row, b.of)
		if err != nil {
			return nil, err
		}
		r.Verdicts = append(r.Verdicts, Verdict{What: b.what, Budget: b.most, Found: found, Says: Judge(found, b.most)})
	}
	return r, nil
}

// Section returns the section of that benchmark, if there is one.
func (r *Report) Section(benchmark string) (Section, bool) {
	i := slices.IndexFunc(r.Sections, func(s Section) bool { return s.Benchmark == benchmark })
	if i < 0 {
		return Section{}, false
	}
	return r.Sections[i], true
}

// ratio compares two rows round by round: what slows a whole round slows both.
func ratio(s *rounds.Samples, name, of string) (Estimate, error) {
	over, under := s.Values[name]["sec/op"], s.Values[of]["sec/op"]
	if len(over) == 0 || len(over) != len(under) {
		return Estimate{}, fmt.Errorf("can't compare %s, measured %d times, with %s, measured %d times", name, len(over), of, len(under))
	}
	ratios := make([]float64, len(over))
	for i := range over {
		ratios[i] = over[i] / under[i]
	}
	return NewEstimate(ratios), nil
}

// NewEstimate returns what a sample of at least one value says. It makes no assumption about
// how values are distributed; what disturbs a benchmark only ever slows it, so it is not the
// normal distribution.
func NewEstimate(values []float64) Estimate {
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	summary := benchmath.AssumeNothing.Summary(sample, 0.95)
	e := Estimate{Median: summary.Center, Low: summary.Lo, High: summary.Hi, Least: sample.Values[0]}
	// With too few rounds for an interval of that confidence its ends are infinite, which
	// JSON has no word for. The extremes are then all that is known.
	e.Low = max(e.Low, e.Least)
	e.High = min(e.High, sample.Values[len(sample.Values)-1])
	return e
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}

func allocs(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	e := NewEstimate(values)
	return &e.Median
}

// Judge says whether the budget is met, where the noise leaves that open as well.
func Judge(found Estimate, most float64) string {
	switch {
	case found.High <= most:
		return "met"
	case found.Low > most:
		return "NOT MET"
	case found.Median <= most:
		return "met, within the noise"
	default:
		return "not met, within the noise"
	}
}
