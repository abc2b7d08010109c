// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spangate/spangate/bench/internal/rollouts"
)

func TestReportIsWrittenWhole(t *testing.T) {
	report := new(rollouts.Report)
	if err := json.Unmarshal([]byte(read(t, filepath.Join("../../..", kept))), report); err != nil {
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
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root, kept))), &back); err != nil || !reflect.DeepEqual(&back, report) {
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
