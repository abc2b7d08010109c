// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spangate/spangate/bench/internal/result"
	"github.com/spangate/spangate/bench/internal/rounds"
)

// It also pins that every benchmark is shown, and that the rows that sections and budgets
// name exist: a report of which that is not so is an error.
func TestReportOfTwoQuickRoundsIsWrittenWhole(t *testing.T) {
	// The benchmarks are built behind go test's back. It remembers what a test reads, and so
	// runs this one again when they change.
	sources, err := filepath.Glob("../../*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("sources: %v, %v", sources, err)
	}
	for _, source := range sources {
		read(t, source)
	}

	o := rounds.Options{Rounds: 2, BenchTime: "1000x", Python: time.Millisecond, Progress: io.Discard}
	samples, err := rounds.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	report, err := result.New(samples)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Print(io.Discard); err != nil {
		t.Fatal(err)
	}

	root := t.TempDir()
	page := filepath.Join(root, "README.md")
	if err := os.WriteFile(page, []byte("Before\n<!-- bench:Check -->\nold\n<!-- /bench -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(report, root); err != nil {
		t.Fatal(err)
	}

	text := read(t, page)
	if strings.Contains(text, "old") || !strings.HasPrefix(text, "Before\n") || !strings.HasSuffix(text, "\nafter\n") ||
		!strings.Contains(text, "| an empty loop | ") {
		t.Errorf("the page became\n%s", text)
	}
	var back result.Report
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root, "bench/results/report.json"))), &back); err != nil {
		t.Error(err)
	}
	if len(back.Sections) != len(report.Sections) || back.Machine != report.Machine {
		t.Errorf("the JSON reads back as %+v", back)
	}
	drawings, err := filepath.Glob(filepath.Join(root, "bench/results/*.svg"))
	if err != nil || len(drawings) != 3 {
		t.Fatalf("drawings: %v, %v", drawings, err)
	}
	for _, drawing := range drawings {
		svg := read(t, drawing)
		if !strings.Contains(svg, "prefers-color-scheme: dark") {
			t.Errorf("%s has no dark theme", drawing)
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", drawing, err)
				break
			}
		}
	}
}

func TestPagesShowTheCommittedReport(t *testing.T) {
	var report result.Report
	if err := json.Unmarshal([]byte(read(t, "../../results/report.json")), &report); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text := read(t, filepath.Join("../../..", page))
		filled, err := report.Fill(text)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		if filled != text {
			t.Errorf("%s has other numbers than bench/results/report.json; write both with go run ./bench/cmd/report", page)
		}
	}
	drawings, err := report.Charts()
	if err != nil {
		t.Fatal(err)
	}
	for name, svg := range drawings {
		if read(t, filepath.Join("../../results", name)) != svg {
			t.Errorf("bench/results/%s shows other numbers than report.json", name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
