// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/ast/edge"
)

// Transparent reports transparent sites of code that ends a span which it fetched from the context: while
// they are off, that is the caller's span.
var Transparent = rule("transparent", "check that no transparent site ends a span that it fetched", transparent)

func transparent(r *reporter) {
	if len(r.known.Enders) == 0 {
		return
	}
	for c := range r.root.Preorder((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil)) {
		if r.inTest(c.Node()) {
			continue
		}
		switch n := c.Node().(type) {
		case *ast.CompositeLit:
			t := r.info.TypeOf(n)
			if !isNamed(t, gatePackage, "Rule") && !isNamed(t, gatePackage, "NamedRule") {
				continue
			}
			on, scope := field(n, "Transparent"), field(n, "Scope")
			if on == nil || scope == nil || r.info.Types[on].Value == nil || r.info.Types[on].Value.String() != "true" {
				continue
			}
			if text, ok := r.text(scope); ok {
				for _, e := range r.known.Enders {
					prefix, wild := strings.CutSuffix(text, "*")
					if e.Scope != "" && (e.Scope == text || wild && text != "*" && strings.HasPrefix(e.Scope, prefix)) {
						r.report(n, nil, "", "package %s ends spans that it fetches from the context: while this rule is off, it ends its caller's span; remove Transparent", e.Package)
						break
					}
				}
			}
		case *ast.CallExpr: // library.WithTracerProvider(provider.Transparent())
			if c.ParentEdgeKind() == edge.CallExpr_Fun {
				continue
			}
			fn := r.callee(n)
			if fn == nil || fn.Pkg() == nil {
				continue
			}
			for _, arg := range n.Args {
				if r.calls(r.value(arg)) != "(*"+gatePackage+".TracerProvider).Transparent" {
					continue
				}
				for _, e := range r.known.Enders {
					if e.Package == fn.Pkg().Path() {
						r.report(arg, nil, "", "package %s ends spans that it fetches from the context: while this view is off, it ends its caller's span; pass the provider itself", e.Package)
						break
					}
				}
			}
		}
	}
}
