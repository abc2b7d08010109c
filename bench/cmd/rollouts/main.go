// SPDX-License-Identifier: Apache-2.0

// Command rollouts measures what spans cost real work: the four processes of
// examples/rollout, in CPU time, instructions, spans and bytes. Package rollouts says how, and
// what it does not measure. It fails if the sites that are off cost more than the budget
// allows, by instructions.
//
//	go run ./bench/cmd/rollouts                prints, and writes what the repository keeps: bench/results and the tables of docs/cost.md
//	go run ./bench/cmd/rollouts -short         prints a rough version and writes nothing
//	go run ./bench/cmd/rollouts -counts=0      without instructions, for which it needs valgrind
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spangate/spangate/bench/internal/module"
	"github.com/spangate/spangate/bench/internal/rollouts"
)

func main() {
	o := rollouts.Options{Few: 50, Many: 500, Progress: os.Stderr}
	short := flag.Bool("short", false, "two short rounds, no instructions, and nothing written")
	flag.IntVar(&o.Rounds, "rounds", 15, "how many rounds of time")
	flag.IntVar(&o.Counts, "counts", 3, "how many rounds of instructions")
	flag.Parse()
	if *short {
		o.Rounds, o.Few, o.Many, o.Counts = 2, 10, 60, 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, o, !*short)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollouts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o rollouts.Options, keep bool) error {
	if o.Rounds < 1 || o.Counts < 0 {
		return errors.New("-rounds is at least 1, and -counts at least 0")
	}
	report, err := rollouts.Measure(ctx, o)
	if errors.Is(err, rollouts.ErrNoValgrind) {
		return fmt.Errorf("%w; without it, -counts=0 measures the rest", err)
	}
	if err != nil {
		return err
	}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	if keep {
		dir, err := module.Dir()
		if err != nil {
			return err
		}
		if err := write(report, filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if says, ok := report.Verdict(); !ok {
		return errors.New(says)
	}
	return nil
}

// write writes what the repository keeps of the report to root.
func write(report *rollouts.Report, root string) error {
	text, err := json.MarshalIndent(report, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, kept), append(text, '\n'), 0o644); err != nil {
		return err
	}
	file := filepath.Join(root, shownIn)
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := report.Fill(string(before))
	if err != nil {
		return fmt.Errorf("%s: %w", shownIn, err)
	}
	return os.WriteFile(file, []byte(after), 0o644)
}

// In the folder of the repository.
const (
	kept    = "bench/results/rollouts.json"
	shownIn = "docs/cost.md"
)
