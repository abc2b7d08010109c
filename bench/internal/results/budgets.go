// SPDX-License-Identifier: Apache-2.0

package results

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Budget limits the ratio of two rows: Row may have at most Most times the value of To.
type Budget struct {
	What, Row, To, Unit string
	Most                float64
}

// Budgets has the budgets that are ratios. Tests of the engine and of otelgate pin what a site
// compiles to and what allocates. Budgets of time are shown and fail nothing, since times on a busy
// machine are not reliable; the looser budgets of instructions beside them do fail.
var Budgets = []Budget{
	{"On, constant bit", check, "Check/load and AND by hand", Instructions, 1},
	{"On, 63 other groups on", "GrowthEnabled/63 others on", check, Instructions, 1},
	{"On, 1,000 groups registered", "GrowthRegistered/1000 registered", check, Instructions, 1},
	{"On, 10,000 leases", "GrowthLeased/leases: 10000", check, Instructions, 1},
	{"off Start, no parent", "StartNoParent/spangate, off", "StartNoParent/trace/noop", Instructions, 1. / 6},
	{"off Start, gated parent", "StartUnderSpan/spangate, off, gated parent", noop, Instructions, 1. / 4},
	{"off Start, a value beneath a gated parent", "StartUnderSpan/spangate, off, a value beneath a gated parent", noop, Instructions, 0.7},
	{"off Start, SDK parent", "StartUnderSpan/spangate, off, raw SDK parent", noop, Instructions, 0.8},
	{"a span that is on, no parent", "SpanOn/through the gate, no parent", "SpanOn/SDK, no parent", Instructions, 1.25},
	{"a span that is on, under a span", "SpanOn/through the gate, under a span", "SpanOn/SDK, under a span", Instructions, 1.25},
	{"a value beneath ten spans", "Value/through the gate", "Value/SDK", Instructions, 2.5},
	{"Tracer of a scope seen before", "Tracer/through the gate", "Tracer/SDK", Instructions, 1},
	{"off Start, no parent", "StartNoParent/spangate, off", "StartNoParent/trace/noop", Seconds, 1. / 6},
	{"off Start, gated parent", "StartUnderSpan/spangate, off, gated parent", noop, Seconds, 1. / 6},
	{"off Start, a value beneath a gated parent", "StartUnderSpan/spangate, off, a value beneath a gated parent", noop, Seconds, 1. / 2},
	{"off Start, SDK parent", "StartUnderSpan/spangate, off, raw SDK parent", noop, Seconds, 1. / 2},
	{"a value beneath ten spans", "Value/through the gate", "Value/SDK", Seconds, 2.5},
	{"Tracer of a scope seen before", "Tracer/through the gate", "Tracer/SDK", Seconds, 1},
	{"Parse", "Parse/spangate.Parse", "Python/resolve", Seconds, 1. / 10},
	{"On, set swapped at 1 kHz", "GrowthToggling/swapped at 1 kHz", "GrowthToggling/never swapped", Seconds, 1.05},
}

const (
	check = "Check/spangate: constant bit, package-level gate"
	noop  = "StartUnderSpan/trace/noop"
)

// OffToCompiledOut is the budget of real work, which package rollouts measures.
var OffToCompiledOut = Budget{"a rollout with everything off", "Rollout/everything off", "Rollout/compiled out", program, 1.01}

// program is the unit of instructions outside Go's runtime, whose scheduler varies from run to run.
const program = "program-instructions/op"

var units = map[string]string{Instructions: "instructions", program: "instructions outside the runtime", Seconds: "time"}

// spread is the fraction by which two counts of one row may differ: Go's allocator does not always
// do the same work.
const spread = 0.005

// Judge returns the ratio that was found and whether it is within the budget.
func (r *Results) Judge(b Budget) (found float64, met bool, err error) {
	found, err = r.Ratio(b.Row, b.To, b.Unit)
	if b.Unit == Instructions {
		return found, found <= b.Most*(1+spread), err
	}
	return found, found <= b.Most, err
}

// budgets is the table of all budgets.
func (r *Results) budgets() (string, error) {
	lines := [][]string{{"", "of", "in", "at most", "found", ""}}
	for _, b := range append(Budgets, OffToCompiledOut) {
		found, met, err := r.Judge(b)
		if err != nil {
			return "", err
		}
		verdict := "met"
		if !met {
			verdict = "not met"
		}
		_, to, _ := strings.Cut(b.To, "/")
		lines = append(lines, []string{b.What, to, units[b.Unit], Times(b.Most), Times(found), verdict})
	}
	return markdown(lines), nil
}

// inSummary has the budgets that are in the table of the README, by What and Unit.
var inSummary = map[[2]string]bool{
	{"On, constant bit", Instructions}:                true,
	{"a span that is on, under a span", Instructions}: true,
	{"off Start, no parent", Seconds}:                 true,
	{"off Start, gated parent", Seconds}:              true,
	{"Parse", Seconds}:                                true,
	{"On, set swapped at 1 kHz", Seconds}:             true,
}

// summary is a table of what was found for the budgets of inSummary.
func (r *Results) summary() (string, error) {
	lines := [][]string{{"", "compared with", "in", "times"}}
	for _, b := range Budgets {
		if !inSummary[[2]string{b.What, b.Unit}] {
			continue
		}
		found, _, err := r.Judge(b)
		if err != nil {
			return "", err
		}
		_, to, _ := strings.Cut(b.To, "/")
		lines = append(lines, []string{b.What, to, units[b.Unit], Times(found)})
	}
	return markdown(lines), nil
}

// tolerance is the fraction by which a count may differ from the accepted one.
const tolerance = 0.05

// Changed returns the rows of spangate alone, which allocate nothing and so have exact counts, whose
// instructions differ from the accepted ones, for better or worse.
func (r *Results) Changed(accepted *Results) (changes []string, err error) {
	if a, b := accepted.Config["goarch"], r.Config["goarch"]; a != b {
		return nil, fmt.Errorf("the accepted instructions are %s's, these are %s's", a, b)
	}
	compared := 0
	for _, row := range r.Rows {
		allocations, _ := r.Value(row, Allocations)
		if !strings.Contains(row, "/spangate") || allocations > 0 {
			continue
		}
		compared++
		found, _ := r.Value(row, Instructions)
		was, _ := accepted.Value(row, Instructions)
		if math.Abs(found-was) > tolerance*was+0.5 { // half an instruction is the loop's
			changes = append(changes, fmt.Sprintf("%s: %.0f instructions, accepted were %.0f ± %.0f %%", row, found, was, 100*tolerance))
		}
	}
	if compared == 0 {
		return nil, errors.New("no row of spangate was counted")
	}
	return changes, nil
}
