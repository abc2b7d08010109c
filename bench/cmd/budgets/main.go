// SPDX-License-Identifier: Apache-2.0

// Command budgets holds spangate to its budgets by what no load on the machine can change:
// what a site compiles to, how many instructions operations execute, and what they allocate.
// It prints every budget with what was found, and fails if one is broken.
//
//	go run ./bench/cmd/budgets                everything; needs valgrind
//	go run ./bench/cmd/budgets -count=false   without instruction counts
//	go run ./bench/cmd/budgets -update        accept the counts: writes bench/instructions.json
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spangate/spangate/bench/internal/budget"
	"github.com/spangate/spangate/bench/internal/callgrind"
	"github.com/spangate/spangate/bench/internal/module"
	"github.com/spangate/spangate/bench/internal/operation"
)

func main() {
	count := flag.Bool("count", true, "count instructions, with valgrind")
	update := flag.Bool("update", false, "write the counts as the new baseline")
	flag.Parse()
	if err := run(os.Stdout, *count, *update); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, count, update bool) error {
	if update && !count {
		return errors.New("-update needs the counts that -count=false leaves out")
	}
	verdicts, err := budget.Sites()
	if err != nil {
		return err
	}
	allocations, err := budget.Allocations()
	if err != nil {
		return err
	}
	verdicts = append(verdicts, allocations...)
	if count {
		instructions, err := instructions(update)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, instructions...)
	}
	if broken := show(w, verdicts); broken > 0 {
		return fmt.Errorf("%d of %d budgets are broken", broken, len(verdicts))
	}
	return nil
}

// instructions counts, and with update makes the counts the baseline before it judges them.
func instructions(update bool) (verdicts []budget.Verdict, err error) {
	dir, err := module.Dir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "instructions.json")
	counts, err := counts()
	if err != nil {
		return nil, err
	}
	if update {
		if err := budget.NewBaseline(counts).Write(file); err != nil {
			return nil, err
		}
	}
	baseline, err := budget.ReadBaseline(file)
	if err != nil {
		return nil, err
	}
	return budget.Instructions(counts, baseline), nil
}

func counts() (counts map[string]float64, err error) {
	c, err := callgrind.New()
	if errors.Is(err, callgrind.ErrMissing) {
		return nil, fmt.Errorf("%w; without it, -count=false checks the rest", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	counts = make(map[string]float64)
	for _, o := range operation.All {
		if counts[o.Name], err = c.Instructions(o.Name); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// show prints the verdicts as a table and returns how many budgets are broken.
func show(w io.Writer, verdicts []budget.Verdict) (broken int) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range verdicts {
		mark := "ok"
		if !v.OK {
			mark = "BROKEN"
			broken++
		}
		fmt.Fprintf(table, "%s\t%s\tbudget: %s\tfound: %s\n", mark, v.What, v.Budget, v.Found)
	}
	table.Flush()
	for _, v := range verdicts {
		if !v.OK && v.Remedy != "" {
			fmt.Fprintf(w, "%s: %s\n", v.What, v.Remedy)
		}
	}
	return broken
}
