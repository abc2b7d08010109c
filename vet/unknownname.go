// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// UnknownName reports names in constant specs that no catalog has.
var UnknownName = rule("unknownname", "check the names in constant specs against the catalogs in reach", unknownName)

func unknownName(r *reporter) {
	for c := range r.root.Preorder((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil)) {
		if r.inTest(c.Node()) {
			continue // a test of unknown names names them, and one of known names fails
		}
		switch n := c.Node().(type) {
		case *ast.CallExpr:
			r.specArgument(n)
		case *ast.CompositeLit:
			for _, f := range []struct{ typ, name string }{{"Baseline", "Spec"}, {"LeaseRequest", "Spec"}, {"LeaseRequest", "Quiet"}} {
				if e := field(n, f.name); e != nil && isNamed(r.info.TypeOf(n), engine+"/control", f.typ) {
					r.registrySpec(e)
				}
			}
		}
	}
}

func (r *reporter) specArgument(call *ast.CallExpr) {
	const method = "(*" + engine + ".Catalog)."
	switch name := r.calls(call); name {
	case engine + ".Parse", engine + ".MustParse":
		r.names(call.Args[0], spec.Entries, names(spangate.Gym, true, true), false)
	case method + "Parse", method + "Lookup", method + "Group", method + "Preset":
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return
		}
		c, ok := r.catalog(sel.X)
		built := c.build()
		if !ok || built == nil {
			return
		}
		split := spec.Entries
		if name != method+"Parse" {
			split = func(s string) iter.Seq[spec.Entry] { return slices.Values([]spec.Entry{{Name: s}}) }
		}
		r.names(call.Args[0], split, names(built, name != method+"Preset", name != method+"Group"), false)
	case "(*" + engine + "/registry.Registry).SetSpec", "(*" + engine + "/registry.Registry).Pin",
		engine + "/control.Ceiling", engine + "/control.Deny":
		for _, e := range call.Args {
			r.registrySpec(e)
		}
	}
}

// registrySpec checks a spec that a registry reads. Other processes and discovered scopes have names
// too, so a name is reported only if it is near to one of a catalog.
func (r *reporter) registrySpec(e ast.Expr) {
	var known []string
	for _, c := range r.all() {
		if built := c.build(); built != nil {
			known = append(known, names(built, true, true)...)
		}
	}
	r.names(e, spec.Entries, known, true)
}

// names returns the names of the catalog's groups, presets, or both.
func names(c *spangate.Catalog, groups, presets bool) (list []string) {
	if presets {
		for p := range c.Presets() {
			list = append(list, p.Name)
		}
	}
	if groups {
		for g := range c.Groups() {
			list = append(list, g.Name)
		}
	}
	return list
}

// names reports each name in e, a constant, that is not known; with near, only if a known one is near.
func (r *reporter) names(e ast.Expr, split func(string) iter.Seq[spec.Entry], known []string, near bool) {
	text, ok := r.text(e)
	if !ok {
		e = r.flagDefault(e)
		if text, ok = r.text(e); !ok {
			return
		}
	}
	table := map[string]bool{}
	for _, name := range known {
		table[name] = true
	}
	for entry := range split(text) {
		if _, ok := spec.Lookup(table, entry.Name); ok {
			continue
		}
		nearest := spec.Nearest(entry.Name, known)
		switch {
		case nearest != "":
			var edits []analysis.TextEdit
			if lit, ok := ast.Unparen(e).(*ast.BasicLit); ok && lit.Value[1:len(lit.Value)-1] == text { // no escapes
				at := lit.Pos() + 1 + token.Pos(entry.Offset)
				edits = []analysis.TextEdit{{Pos: at, End: at + token.Pos(len(entry.Name)), NewText: []byte(nearest)}}
			}
			r.report(e, edits, fmt.Sprintf("Replace %s by %s", entry.Name, nearest),
				"no catalog in reach has a group or preset %q; did you mean %q?", entry.Name, nearest)
		case !near:
			r.report(e, nil, "", "the catalog has no group or preset %q; it has %s", entry.Name, strings.Join(known, ", "))
		}
	}
}

// flagDefault returns the default of the flag that e reads, *flag.String(…), or e.
func (r *reporter) flagDefault(e ast.Expr) ast.Expr {
	if star, ok := ast.Unparen(e).(*ast.StarExpr); ok {
		if call, ok := r.value(star.X).(*ast.CallExpr); ok {
			if r.isFlag(call, "String", 3) && !r.replaced(star.X, true) {
				return call.Args[1]
			}
		}
		return e
	}
	// flag.StringVar(&e, …)
	for _, c := range r.mentions[r.object(e)] {
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		address := c.Parent()
		if call, ok := address.Parent().Node().(*ast.CallExpr); ok && address.ParentEdgeKind() == edge.CallExpr_Args {
			if r.isFlag(call, "StringVar", 4) && !r.replaced(e, false) {
				return call.Args[2]
			}
		}
	}
	return e
}

// replaced reports whether the flag in e, a variable or a pointer to it, is assigned or compared, so that
// the default may never be a spec.
func (r *reporter) replaced(e ast.Expr, pointer bool) bool {
	return slices.ContainsFunc(r.mentions[r.object(e)], func(c inspector.Cursor) bool {
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		if pointer {
			if c.ParentEdgeKind() != edge.StarExpr_X {
				return false
			}
			c = c.Parent()
		}
		switch c.ParentEdgeKind() {
		case edge.AssignStmt_Lhs, edge.BinaryExpr_X, edge.BinaryExpr_Y, edge.SwitchStmt_Tag:
			return true
		}
		return false
	})
}

// isFlag reports whether call is of the function or method called name of package flag or pflag, with so
// many arguments.
func (r *reporter) isFlag(call *ast.CallExpr, name string, args int) bool {
	fn := r.callee(call)
	return fn != nil && fn.Name() == name && len(call.Args) == args && fn.Pkg() != nil && (fn.Pkg().Path() == "flag" || fn.Pkg().Path() == "github.com/spf13/pflag")
}
