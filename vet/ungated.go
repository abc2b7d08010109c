// SPDX-License-Identifier: Apache-2.0

package vet

import "go/ast"

// Ungated reports spans that no gate decides on in a package that has one. It reports only if its flag
// enable is set, since a package may well have spans that are always on.
var Ungated = rule("ungated", "report spans outside any guard in a package that has a gate (opt-in: -ungated.enable)", ungated)

var reportUngated bool

func init() {
	Ungated.Flags.BoolVar(&reportUngated, "enable", false, "report; without it the rule is off")
}

func ungated(r *reporter) {
	if !reportUngated {
		return
	}
	asks := false
	for c := range r.root.Preorder((*ast.CallExpr)(nil)) {
		asks = asks || r.asked(c.Node().(*ast.CallExpr), false) != nil && !r.inTest(c.Node())
	}
	if !asks {
		return
	}
	for _, st := range r.starts {
		// The callers of a wrapper are the sites.
		decl, _ := r.function(st.cur).Node().(*ast.FuncDecl)
		if decl != nil && r.sites.pass.ImportObjectFact(r.info.Defs[decl.Name], new(startFact)) {
			continue
		}
		if !st.gated && r.guard(st.cur) == nil && !r.inTest(st.call) {
			r.report(st.call, nil, "", "this span is on whatever the gate says; start it under On, or with a tracer of an otelgate provider")
		}
	}
}
