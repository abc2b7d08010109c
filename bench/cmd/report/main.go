// SPDX-License-Identifier: Apache-2.0

// Command report times this module's benchmarks and fills the tables of README.md and docs.
// What was measured is kept in bench/results in Go's benchmark format, which benchstat reads.
//
//	go run ./bench/cmd/report             from the root of the repository
//	go run ./bench/cmd/report -rollouts   measures real work too, which takes a few minutes and needs valgrind
//	go run ./bench/cmd/report -tables     measures nothing: fills the tables from bench/results
//
// cmd/budgets counts the instructions. report fails if real work takes more instructions with
// everything off than the budget allows; no time makes it fail.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spangate/spangate/bench/internal/results"
)

// rounds is how often all benchmarks run, one after the other: a slow phase of the machine then does
// not affect every measurement of one row.
const rounds = 10

func main() {
	rollouts := flag.Bool("rollouts", false, "measure real work too")
	tables := flag.Bool("tables", false, "measure nothing, only fill the tables")
	flag.Parse()
	if err := run(!*tables, *rollouts); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(times, rollouts bool) error {
	if times {
		if err := measure("times.txt", func(dir string) (string, error) { return timeBenchmarks(dir, rounds, "25ms") }); err != nil {
			return err
		}
	}
	if rollouts {
		if err := measure("rollouts.txt", measureRollouts); err != nil {
			return err
		}
	}
	r, err := read(".")
	if err != nil {
		return fmt.Errorf("%w; run it in the root of the repository", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		filled, err := r.Fill(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := os.WriteFile(page, []byte(filled), 0o644); err != nil {
			return err
		}
	}
	found, met, err := r.Judge(results.OffToCompiledOut)
	if err == nil && !met {
		err = fmt.Errorf("%s takes %.4f times the instructions of one that is compiled out", results.OffToCompiledOut.What, found)
	}
	return err
}

// pages have tables.
var pages = []string{"README.md", "docs/cost.md", "docs/alternatives.md"}

// read reads the results that are kept in a repository.
func read(root string) (*results.Results, error) {
	dir := filepath.Join(root, "bench", "results")
	return results.Read(filepath.Join(dir, "instructions.txt"), filepath.Join(dir, "times.txt"), filepath.Join(dir, "rollouts.txt"))
}

// measure writes to file what f measures. The folder that f gets is removed afterwards.
func measure(file string, f func(dir string) (string, error)) error {
	dir, err := os.MkdirTemp("", "spangate-report-")
	if err != nil {
		return err
	}
	text, err := f(dir)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("bench", "results", file), []byte("go: "+runtime.Version()+"\n"+text), 0o644)
}

// timeBenchmarks runs in the root of the repository and builds in dir.
func timeBenchmarks(dir string, rounds int, benchtime string) (text string, err error) {
	program := filepath.Join(dir, "bench.test")
	if _, err := output("go", "test", "-c", "-o", program, "./bench"); err != nil {
		return "", err
	}
	for i := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, rounds)
		out, err := output(program, "-test.run=^$", "-test.bench=.", "-test.benchtime="+benchtime)
		if err != nil {
			return "", err
		}
		text += out
	}
	python, err := output("python3", filepath.Join("bench", "python", "nemo_lens_shaped.py"))
	return text + python, err
}

func measureRollouts(string) (text string, err error) {
	for _, args := range []string{"-count=6", "-count=2 -instructions -rollouts=100"} {
		fmt.Fprintln(os.Stderr, "rollouts", args)
		command := append(strings.Fields("go test -run=^$ -bench=. -benchtime=1x -timeout=20m ./bench/rollouts"), strings.Fields(args)...)
		out, err := output(command...)
		if err != nil {
			return "", err
		}
		text += out
	}
	return text, nil
}

func output(command ...string) (string, error) {
	var stderr strings.Builder
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out), nil
}
