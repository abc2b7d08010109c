// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/spangate/spangate/bench/internal/results"
)

func TestBrokenBudgetOrChangedCountFails(t *testing.T) {
	t.Chdir("../../..")
	text, err := os.ReadFile(acceptedFile)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := results.Read(acceptedFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := judge(io.Discard, accepted, accepted); err != nil {
		t.Errorf("what was accepted fails: %v", err)
	}
	for _, row := range []string{"SpanOn/through_the_gate,_no_parent", "Parse/spangate.Parse"} {
		found := new(results.Results)
		count := regexp.MustCompile(`(Benchmark` + regexp.QuoteMeta(row) + ` 1) \S+`)
		if err := found.Add("", count.ReplaceAllString(string(text), "$1 6000")); err != nil {
			t.Fatal(err)
		}
		if err := judge(io.Discard, found, accepted); err == nil {
			t.Errorf("6,000 instructions of %s pass", row)
		}
	}
}
