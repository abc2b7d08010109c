// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spangate/spangate/bench/internal/results"
)

func TestPagesHaveTheNumbersOfTheResults(t *testing.T) {
	t.Chdir("../../..")
	r, err := read(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		filled, err := r.Fill(string(text))
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		if filled != string(text) {
			t.Errorf("%s has other numbers than bench/results; write them with go run ./bench/cmd/report -tables", page)
		}
	}
}

// It fails if a table or a budget names a row that no longer exists.
func TestCurrentBenchmarksHaveEveryRowOfThePages(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	t.Chdir("../../..")
	sources, err := filepath.Glob("bench/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, source := range sources {
		if _, err := os.ReadFile(source); err != nil { // so that go test runs this again when they change
			t.Fatal(err)
		}
	}
	times, err := timeBenchmarks(t.TempDir(), 1, "1x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := results.Read("bench/results/instructions.txt", "bench/results/rollouts.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add("times", times); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Fill(string(text)); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}
