// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// decision is a call of On, of a wrapper of On, or of Load, whose result decides whether code runs.
type decision struct {
	call     *ast.CallExpr
	mask     ast.Expr         // the argument, or nil
	variable types.Object     // that kept the result, or nil
	kept     inspector.Cursor // where it was kept
}

// text identifies what is asked.
func (d *decision) text() string { return types.ExprString(d.call) }

// guard returns a decision that is true wherever the code at c runs, the nearest, or nil.
func (s *sites) guard(c inspector.Cursor) *decision {
	for ; c.Parent().Node() != nil; c = c.Parent() {
		var d *decision
		parent := c.Parent().Node()
		switch c.ParentEdgeKind() {
		case edge.FuncDecl_Body:
			return nil
		case edge.IfStmt_Body:
			d = s.positive(parent.(*ast.IfStmt).Cond)
		case edge.IfStmt_Else:
			d = s.negative(parent.(*ast.IfStmt).Cond)
		case edge.BinaryExpr_Y:
			if b := parent.(*ast.BinaryExpr); b.Op == token.LAND {
				d = s.positive(b.X)
			}
		case edge.CaseClause_Body:
			if sw, ok := c.Parent().Parent().Parent().Node().(*ast.SwitchStmt); ok && sw.Tag == nil && len(parent.(*ast.CaseClause).List) == 1 {
				d = s.positive(parent.(*ast.CaseClause).List[0])
			}
			if d == nil {
				d = s.leftEarly(c)
			}
		case edge.BlockStmt_List, edge.CommClause_Body:
			d = s.leftEarly(c)
		}
		if d != nil {
			return d
		}
	}
	return nil
}

// leftEarly returns the decision of an `if !gate.On(…) { return }` before the statement at c.
func (s *sites) leftEarly(c inspector.Cursor) *decision {
	kind := c.ParentEdgeKind()
	for before, ok := c.PrevSibling(); ok && before.ParentEdgeKind() == kind; before, ok = before.PrevSibling() {
		if stmt, ok := before.Node().(*ast.IfStmt); ok && stmt.Else == nil && terminates(stmt.Body) {
			if d := s.negative(stmt.Cond); d != nil {
				return d
			}
		}
	}
	return nil
}

// terminates reports whether control does not flow out of the end of the block.
func terminates(block *ast.BlockStmt) bool {
	if len(block.List) == 0 {
		return false
	}
	switch last := block.List[len(block.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	}
	return false
}

// positive returns a decision that is true if cond is, or nil.
func (s *sites) positive(cond ast.Expr) *decision { return s.decides(cond, true, true) }

// negative returns a decision that is true if cond is not, or nil.
func (s *sites) negative(cond ast.Expr) *decision { return s.decides(cond, false, true) }

// decides returns a decision that is true if cond has the value truth, or nil. It follows a
// variable to its value once, if kept.
func (s *sites) decides(cond ast.Expr, truth, kept bool) *decision {
	switch e := ast.Unparen(cond).(type) {
	case *ast.BinaryExpr:
		switch {
		case e.Op == token.LAND && truth, e.Op == token.LOR && !truth:
			if d := s.decides(e.X, truth, kept); d != nil {
				return d
			}
			return s.decides(e.Y, truth, kept)
		case e.Op == token.NEQ && truth: // m&bit != 0
			if and, ok := ast.Unparen(e.X).(*ast.BinaryExpr); ok && and.Op == token.AND {
				return s.loaded(and.X, kept)
			}
		}
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return s.decides(e.X, !truth, kept)
		}
	case *ast.CallExpr:
		if truth {
			return s.asked(e, kept)
		}
	case *ast.Ident, *ast.SelectorExpr:
		if truth && kept {
			return s.kept(e, func(v ast.Expr) *decision { return s.decides(v, true, false) })
		}
	}
	return nil
}

// asked returns the decision of call.
func (s *sites) asked(call *ast.CallExpr, kept bool) *decision {
	fn := s.callee(call)
	if fn == nil {
		return nil
	}
	var fact onFact
	switch {
	case fn.FullName() == funcOn:
		return &decision{call: call, mask: call.Args[0]}
	case fn.FullName() == funcOnContext && len(call.Args) == 2:
		return &decision{call: call, mask: call.Args[1]}
	case s.pass.ImportObjectFact(fn, &fact):
		d := &decision{call: call}
		if fact.Param >= 0 && fact.Param < len(call.Args) {
			d.mask = call.Args[fact.Param]
		}
		return d
	case fn.FullName() == "("+engine+".Mask).HasAny" || fn.FullName() == "("+engine+".Mask).HasAll":
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			return s.loaded(sel.X, kept)
		}
	}
	return nil
}

// loaded returns the decision of e if it is the result of Load.
func (s *sites) loaded(e ast.Expr, kept bool) *decision {
	if s.calls(e) == funcLoad {
		return &decision{call: ast.Unparen(e).(*ast.CallExpr)}
	}
	if !kept {
		return nil
	}
	return s.kept(e, func(v ast.Expr) *decision { return s.loaded(v, false) })
}

// kept returns the decision that e, a variable or field, keeps: every value that the package
// gives it is one, or a constant.
func (s *sites) kept(e ast.Expr, decide func(ast.Expr) *decision) *decision {
	obj, ok := s.object(e).(*types.Var)
	if !ok || obj.Pkg() != s.pass.Pkg {
		return nil
	}
	values, all := s.values(obj)
	if !all {
		return nil
	}
	var kept *decision
	for _, v := range values {
		if s.info.Types[v.expr].Value != nil {
			continue
		}
		d := decide(v.expr)
		if d == nil {
			return nil
		}
		kept = &decision{call: d.call, mask: d.mask, variable: obj, kept: v.cur}
	}
	return kept
}
