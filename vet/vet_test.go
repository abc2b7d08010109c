// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/spangate/spangate/vet"
)

// Each rule reports what the folder of its name says with `want`, and nothing else there. The fixed
// files are those with the ending .golden.
func TestRules(t *testing.T) {
	for _, a := range vet.Analyzers() {
		t.Run(a.Name, func(t *testing.T) {
			switch a {
			case vet.Suppression:
				return // TestSuppression
			case vet.Ungated:
				t.Cleanup(func() { a.Flags.Set("enable", "false") })
				a.Flags.Set("enable", "true")
			}
			analysistest.Run(t, analysistest.TestData(), a, "./"+a.Name+"/...")
		})
	}
}

var _ = analysis.Validate
