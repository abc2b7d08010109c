// SPDX-License-Identifier: Apache-2.0

// Package vet finds mistakes at instrumentation sites that compile and that no test sees. Each rule
// is an [analysis.Analyzer]; [Analyzers] returns them all, for a driver. The command
// [github.com/spangate/spangate/vet/cmd/spangatevet] runs them by itself and for go vet and go fix,
// and package golangci makes them a linter of golangci-lint.
//
// The rules report what follows from syntax, types and facts, and stay silent where that is not
// enough. A comment suppresses a finding on its line or the next:
//
//	//spangate:ignore RULE reason
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers returns the analyzers of all rules. Ungated reports only if its flag is set.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		EagerWork, Hoisted, DecidedTwice, UnknownName, NoSite, LostSpan, OtherCatalog, EarlyTracer, Transparent, Ungated, Suppression,
	}
}

// rule returns the analyzer of a rule.
func rule(name, doc string, run func(*reporter)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      "https://github.com/spangate/spangate/blob/main/vet/docs/" + name + ".md",
		Requires: []*analysis.Analyzer{sitesAnalyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			r := &reporter{sites: pass.ResultOf[sitesAnalyzer].(*sites), pass: pass}
			if r.root.Valid() {
				run(r)
			}
			return nil, nil
		},
	}
}

// reporter reports what one rule finds in one package.
type reporter struct {
	*sites
	pass *analysis.Pass
}

// report reports a finding, unless a comment suppresses it.
func (r *reporter) report(n analysis.Range, edits []analysis.TextEdit, fix, format string, args ...any) {
	for _, c := range r.suppressions() {
		if c.rule == r.pass.Analyzer.Name && c.reason != "" && c.covers(r.pass.Fset, n.Pos()) {
			return
		}
	}
	d := analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: fmt.Sprintf(format, args...)}
	if len(edits) > 0 {
		d.SuggestedFixes = []analysis.SuggestedFix{{Message: fix, TextEdits: edits}}
	}
	r.pass.Report(d)
}

// source returns the text of n.
func (r *reporter) source(n ast.Node) string {
	file := r.pass.Fset.File(n.Pos())
	content, err := r.pass.ReadFile(file.Name())
	if err != nil || file.Offset(n.End()) > len(content) {
		return ""
	}
	return string(content[file.Offset(n.Pos()):file.Offset(n.End())])
}

const directive = "//spangate:ignore"

// suppression is a comment that suppresses the findings of a rule.
type suppression struct {
	comment      *ast.Comment
	rule, reason string
}

// covers reports whether pos is on the line of the comment or the next.
func (c suppression) covers(fset *token.FileSet, pos token.Pos) bool {
	at, line := fset.Position(c.comment.Pos()), fset.Position(pos)
	return at.Filename == line.Filename && (line.Line == at.Line || line.Line == at.Line+1)
}

func (s *sites) suppressions() (list []suppression) {
	for _, file := range s.pass.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				rest, ok := strings.CutPrefix(c.Text, directive)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				rule, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
				if i := strings.Index(reason, "//"); i >= 0 { // a comment behind it is not a reason
					reason = reason[:i]
				}
				list = append(list, suppression{c, rule, strings.TrimSpace(reason)})
			}
		}
	}
	return list
}

// Suppression reports comments that suppress nothing: without a reason, or of no rule. It can't be
// suppressed.
var Suppression = &analysis.Analyzer{
	Name:     "suppression",
	Doc:      "check that each " + directive + " names a rule and gives a reason",
	URL:      "https://github.com/spangate/spangate/blob/main/vet/docs/suppression.md",
	Requires: []*analysis.Analyzer{sitesAnalyzer},
}

func init() { // not above: Run refers to Analyzers, which refers to Suppression
	Suppression.Run = func(pass *analysis.Pass) (any, error) {
		s := pass.ResultOf[sitesAnalyzer].(*sites)
		for _, c := range s.suppressions() {
			known := slices.ContainsFunc(Analyzers(), func(a *analysis.Analyzer) bool { return a.Name == c.rule && a != Suppression })
			switch {
			case !known:
				pass.ReportRangef(c.comment, "%s: there is no rule %q; write %s RULE reason", directive, c.rule, directive)
			case c.reason == "":
				pass.ReportRangef(c.comment, "%s %s: the reason is missing; write it behind the rule", directive, c.rule)
			}
		}
		return nil, nil
	}
}
