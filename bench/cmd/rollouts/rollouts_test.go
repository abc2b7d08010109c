// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangate/spangate/bench/internal/rollouts"
)

func TestReportOfAQuickRoundIsWrittenWhole(t *testing.T) {
	report, err := rollouts.Measure(t.Context(), rollouts.Options{Rounds: 1, Few: 1, Many: 6, Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	spans := map[string]float64{"": 0, "per_rollout,-server,-http_client": 5, "default": 11, "per_rollout": 15, "all": 16}
	for _, row := range report.Rows {
		// A job adds a span of its own where job is on.
		if n, ok := spans[row.Spec]; !ok || row.Spans < n || row.Spans > n+1./6 {
			t.Errorf("%s has %v spans, want %v", row.Name, row.Spans, n)
		}
		if (row.Bytes > 0) != (row.Spans > 0) || row.Instructions != nil {
			t.Errorf("%+v", row)
		}
	}
	if err := report.Print(io.Discard); err != nil {
		t.Fatal(err)
	}

	root := t.TempDir()
	for file, text := range map[string]string{kept: "", shownIn: "Before\n<!-- rollouts:presets -->\nold\n<!-- /rollouts -->\nafter\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(report, root); err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join(root, shownIn))
	if strings.Contains(page, "old") || !strings.Contains(page, "| per_rollout | 15 | ") || !strings.HasSuffix(page, "\nafter\n") {
		t.Errorf("the page became\n%s", page)
	}
	var back rollouts.Report
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root, kept))), &back); err != nil || len(back.Rows) != len(report.Rows) {
		t.Errorf("the JSON reads back as %+v, %v", back, err)
	}
}

func TestPageShowsTheCommittedReport(t *testing.T) {
	var report rollouts.Report
	if err := json.Unmarshal([]byte(read(t, filepath.Join("../../..", kept))), &report); err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join("../../..", shownIn))
	filled, err := report.Fill(page)
	if err != nil {
		t.Fatal(err)
	}
	if filled != page {
		t.Errorf("%s has other numbers than %s; write both with go run ./bench/cmd/rollouts", shownIn, kept)
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
