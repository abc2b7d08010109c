// SPDX-License-Identifier: Apache-2.0

// Command report times everything in this module against everything that it is compared
// with, in rounds, and prints it: medians, spread, ratios, and verdicts on the budgets that
// are about time. No verdict of a clock fails it; that is for cmd/budgets.
//
//	go run ./bench/cmd/report          prints, and writes what the repository keeps: bench/results and the tables of the docs
//	go run ./bench/cmd/report -short   prints a rough version and writes nothing
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spangate/spangate/bench/internal/module"
	"github.com/spangate/spangate/bench/internal/result"
	"github.com/spangate/spangate/bench/internal/rounds"
)

func main() {
	short := flag.Bool("short", false, "three short rounds, and nothing written")
	count := flag.Int("rounds", 40, "how many rounds to run")
	flag.Parse()
	o := rounds.Options{Rounds: *count, BenchTime: "5ms", Python: 10 * time.Millisecond, Progress: os.Stderr}
	if *short {
		o.Rounds, o.BenchTime, o.Python = 3, "1ms", 2*time.Millisecond
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, !*short); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o rounds.Options, keep bool) error {
	samples, err := rounds.Run(ctx, o)
	if err != nil {
		return err
	}
	report, err := result.New(samples)
	if err != nil {
		return err
	}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	if !keep {
		return nil
	}
	dir, err := module.Dir()
	if err != nil {
		return err
	}
	return write(report, filepath.Dir(dir))
}

// pages have tables of the report, in the folder of the repository.
var pages = []string{"README.md", "docs/cost.md"}

// write writes what the repository keeps of the report to root.
func write(report *result.Report, root string) error {
	results := filepath.Join(root, "bench", "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(report, "", "\t")
	if err != nil {
		return err
	}
	files := map[string]string{"report.json": string(text) + "\n"}
	charts, err := report.Charts()
	if err != nil {
		return err
	}
	for name, svg := range charts {
		files[name] = svg
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(results, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, page := range pages {
		if err := fill(report, filepath.Join(root, page)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func fill(report *result.Report, page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	filled, err := report.Fill(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if filled == string(text) {
		return nil
	}
	return os.WriteFile(page, []byte(filled), 0o644)
}
