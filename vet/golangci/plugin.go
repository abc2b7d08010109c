// SPDX-License-Identifier: Apache-2.0

// Package golangci makes the rules of package vet a linter of golangci-lint, called spangatevet. List
// the module in .custom-gcl.yml and build golangci-lint with golangci-lint custom:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/spangate/spangate/vet
//	    import: github.com/spangate/spangate/vet/golangci
//	    version: v0.1.0
//
// and enable it in .golangci.yml:
//
//	linters:
//	  enable: [spangatevet]
//	  settings:
//	    custom:
//	      spangatevet:
//	        type: module
//	        settings:
//	          disable: [eagerwork] # rules that are off
//	          ungated: true        # the rule that is off without it
package golangci

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/spangate/spangate/vet"
)

func init() { register.Plugin("spangatevet", New) }

// Settings are those of the linter. The zero value runs every rule but ungated.
type Settings struct {
	Disable []string `json:"disable"`
	Ungated bool     `json:"ungated"`
}

type linter struct{ settings Settings }

// New returns the linter for the settings, as golangci-lint read them. An unknown setting or rule is an
// error.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, fmt.Errorf("spangatevet: %w", err)
	}
	for _, name := range s.Disable {
		if !slices.ContainsFunc(vet.Analyzers(), func(a *analysis.Analyzer) bool { return a.Name == name }) {
			return nil, fmt.Errorf("spangatevet: disable: there is no rule %q; see the folder docs of the module for the rules", name)
		}
	}
	return linter{s}, nil
}

// BuildAnalyzers returns the rules that are not disabled.
func (l linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	if err := vet.Ungated.Flags.Set("enable", strconv.FormatBool(l.settings.Ungated)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(vet.Analyzers(), func(a *analysis.Analyzer) bool { return slices.Contains(l.settings.Disable, a.Name) }), nil
}

// GetLoadMode says that the rules need types.
func (linter) GetLoadMode() string { return register.LoadModeTypesInfo }
