// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// Hoisted reports a decision that is kept for longer than one span.
var Hoisted = rule("hoisted", "check that a decision of the gate is not kept beyond one span", hoisted)

func hoisted(r *reporter) {
	reported := map[types.Object]bool{}
	for c := range r.root.Preorder((*ast.CallExpr)(nil)) {
		call := c.Node().(*ast.CallExpr)
		if r.calls(call) != funcDo && !slices.ContainsFunc(r.starts, func(st *start) bool { return st.call == call }) {
			continue
		}
		d := r.guard(c)
		if d == nil || d.variable == nil || reported[d.variable] {
			continue
		}
		where := r.outlives(d, c)
		if where == "" {
			continue
		}
		reported[d.variable] = true
		r.report(d.call, r.askAtSite(d), "Ask the gate at the site",
			"the answer of %s is kept in %s (%s): changes of the gate do not reach the spans that it decides; ask the gate where the span starts", d.text(), d.variable.Name(), where)
	}
}

// outlives says how the variable of d lives longer than the span at c, or "".
func (r *reporter) outlives(d *decision, c inspector.Cursor) string {
	v := d.variable.(*types.Var)
	switch {
	case v.IsField():
		return "a field"
	case globalName(v) != "":
		return "a package variable"
	}
	for outer := range c.Enclosing((*ast.FuncLit)(nil), (*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil)) {
		values, _ := r.values(v)
		if slices.ContainsFunc(values, func(v value) bool { return r.info.Types[v.expr].Value == nil && within(v.cur.Node(), outer.Node()) }) {
			return ""
		}
		switch n := outer.Node().(type) {
		case *ast.FuncLit:
			if r.escapes(outer) {
				return "for later calls of a closure"
			}
		case *ast.ForStmt:
			if within(c.Node(), n.Body) {
				return "for all rounds of a loop"
			}
		case *ast.RangeStmt:
			if within(c.Node(), n.Body) {
				return "for all rounds of a loop"
			}
		}
	}
	return ""
}

// escapes reports whether the function literal at c is returned, is kept in a field or package
// variable, or becomes an http.HandlerFunc.
func (r *reporter) escapes(c inspector.Cursor) bool {
	kind, i := c.ParentEdge()
	switch parent := c.Parent().Node().(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.KeyValueExpr:
		lit := c.Parent().Parent()
		if lit.ParentEdgeKind() == edge.UnaryExpr_X {
			lit = lit.Parent()
		}
		// The options of a call may be for this call alone.
		return kind == edge.KeyValueExpr_Value && lit.ParentEdgeKind() != edge.CallExpr_Args
	case *ast.CallExpr: // a conversion to a named function type, which is then kept
		if r.info.Types[parent.Fun].IsType() {
			return isNamed(r.info.TypeOf(parent), "net/http", "HandlerFunc") || r.escapes(c.Parent())
		}
		return r.calls(parent) == "net/http.HandleFunc" || r.calls(parent) == "(*net/http.ServeMux).HandleFunc"
	case *ast.AssignStmt:
		if kind == edge.AssignStmt_Rhs && i < len(parent.Lhs) {
			v, ok := r.object(parent.Lhs[i]).(*types.Var)
			return ok && (v.IsField() || globalName(v) != "")
		}
	}
	return false
}

// onlyUse reports whether sel is of a local variable that nothing else uses, so that it must stay.
func (r *reporter) onlyUse(sel *ast.SelectorExpr) bool {
	v, ok := r.object(sel.X).(*types.Var)
	return ok && !v.IsField() && globalName(v) == "" && len(r.mentions[v]) <= 2 && r.mentions[v][0].ParentEdgeKind() != edge.Field_Names
}

// askAtSite returns the edits that replace the variable of d by the question, or nil: it must be used
// once, or the gate would be asked twice, and every name of the question must mean the same there.
func (r *reporter) askAtSite(d *decision) []analysis.TextEdit {
	values, all := r.values(d.variable)
	if !all || len(values) != 1 || ast.Unparen(values[0].expr) != d.call || r.calls(d.call) == funcLoad {
		return nil
	}
	var names []*ast.Ident
	selected := map[*ast.Ident]bool{} // behind a dot
	plain := true
	ast.Inspect(d.call, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			plain = plain && n == d.call
		case *ast.SelectorExpr:
			selected[n.Sel] = true
		case *ast.Ident:
			if !selected[n] {
				names = append(names, n)
			}
		}
		return true
	})
	if !plain {
		return nil
	}
	var edits []analysis.TextEdit
	for _, c := range r.mentions[d.variable] {
		if c == d.kept {
			continue
		}
		use := c
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			use = c.Parent()
			if r.onlyUse(use.Node().(*ast.SelectorExpr)) {
				return nil
			}
		}
		if c.ParentEdgeKind() == edge.Field_Names || c.ParentEdgeKind() == edge.ValueSpec_Names {
			continue // the declaration
		}
		for _, id := range names {
			scope := r.pass.Pkg.Scope().Innermost(use.Node().Pos())
			if scope == nil {
				return nil
			}
			if _, obj := scope.LookupParent(id.Name, use.Node().Pos()); obj != r.info.ObjectOf(id) {
				return nil
			}
		}
		edits = append(edits, analysis.TextEdit{Pos: use.Node().Pos(), End: use.Node().End(), NewText: []byte(r.source(d.call))})
	}
	if len(edits) != 1 {
		return nil
	}
	if v := d.variable.(*types.Var); !v.IsField() && globalName(v) == "" {
		assign, ok := d.kept.Parent().Node().(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 1 {
			return nil // the variable would be declared and not used
		}
		if kind := d.kept.Parent().ParentEdgeKind(); kind != edge.BlockStmt_List {
			return nil
		}
		edits = append(edits, r.removeLine(assign))
	}
	return edits
}
