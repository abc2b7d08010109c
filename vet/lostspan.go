// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/cfg"
)

// LostSpan reports a context or a span that a guarded block loses.
var LostSpan = rule("lostspan", "check that a guarded block hands on its context and ends its span", lostSpan)

func lostSpan(r *reporter) {
	for _, st := range r.starts {
		if st.assign == nil || r.guard(st.cur) == nil {
			continue
		}
		r.shadowedContext(st)
		r.openSpan(st)
	}
}

// shadowedContext reports `ctx, span :=` that declares another ctx in the block, while the span stays
// open behind the block and the code there uses the old ctx.
func (r *reporter) shadowedContext(st *start) {
	stmt := st.cur.Parent()
	block, ok := stmt.Parent().Node().(*ast.BlockStmt)
	if !ok || stmt.Parent().ParentEdgeKind() != edge.IfStmt_Body || terminates(block) || st.ctx == nil || len(st.call.Args) == 0 {
		return
	}
	outer, ok := r.object(st.call.Args[0]).(*types.Var)
	inner, isName := st.assign.Lhs[0].(*ast.Ident)
	if !ok || !isName || r.info.Defs[inner] == nil || inner.Name != outer.Name() || outer.IsField() {
		return
	}
	guard, function := stmt.Parent().Parent(), r.function(st.cur)
	usedBehind := slices.ContainsFunc(r.mentions[outer], func(c inspector.Cursor) bool {
		return c.Node().Pos() > guard.Node().End() && c.Node().End() <= function.Node().End()
	})
	// A span that ends in the block is not meant for what follows.
	endsInBlock := slices.ContainsFunc(r.mentions[st.span], func(c inspector.Cursor) bool {
		return r.ended(c.Parent()) && c.Parent().Parent().ParentEdgeKind() != edge.DeferStmt_Call && r.function(c) == function
	})
	if !usedBehind || endsInBlock || !r.deferredEnd(st) {
		return
	}
	var edits []analysis.TextEdit
	inLoop := slices.ContainsFunc(slices.Collect(guard.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil))), func(c inspector.Cursor) bool {
		return within(c.Node(), function.Node())
	})
	if span, ok := st.span.(*types.Var); ok && !inLoop && r.info.Defs[st.assign.Lhs[1].(*ast.Ident)] != nil {
		qualifier, imports := r.qualifier(st.call, tracePackage)
		if !r.hidden(strings.TrimSuffix(qualifier, "."), st.call) {
			edits = append(imports,
				analysis.TextEdit{Pos: st.assign.Pos(), End: st.assign.Pos(), NewText: []byte("var " + span.Name() + " " + qualifier + "Span\n" + r.indent(st.assign))},
				analysis.TextEdit{Pos: st.assign.TokPos, End: st.assign.TokPos + 2, NewText: []byte("=")})
		}
	}
	r.report(st.assign, edits, "Assign to the outer "+outer.Name(),
		"%s is declared again in the block: what follows it is not beneath this span; declare the span with var and assign with =", outer.Name())
}

// deferredEnd reports whether the span of st is ended by a defer, or not at all.
func (r *reporter) deferredEnd(st *start) bool {
	deferred, ends := false, false
	for _, c := range r.mentions[st.span] {
		if r.ended(c.Parent()) {
			ends = true
			for range c.Enclosing((*ast.DeferStmt)(nil)) {
				deferred = true
			}
		}
	}
	return deferred || !ends
}

// harmless are the methods of a span that neither end it nor keep it.
var harmless = []string{"SetAttributes", "AddEvent", "AddLink", "RecordError", "SetStatus", "SetName", "SpanContext"}

// openSpan reports a span that a path out of the function leaves open: nothing there ends it, hands it
// on, or tests it.
func (r *reporter) openSpan(st *start) {
	span, ok := st.span.(*types.Var)
	function := r.function(st.cur)
	if !ok || span.IsField() || globalName(span) != "" || body(function) == nil || span.Pos() < function.Node().Pos() || span.Pos() >= function.Node().End() {
		return
	}
	if r.handsOn(st.ctx) {
		return
	}
	if slices.ContainsFunc(r.known.Enders, func(e ender) bool { return e.Package == r.pass.Pkg.Path() }) {
		return // it may be fetched from the context and ended
	}
	var handled []ast.Node
	for _, c := range r.mentions[span] {
		if c.Node() == st.assign.Lhs[1] {
			continue
		}
		if r.function(c) != function { // a closure, which may end it at any time
			return
		}
		if sel, ok := c.Parent().Node().(*ast.SelectorExpr); ok && c.ParentEdgeKind() == edge.SelectorExpr_X && slices.Contains(harmless, sel.Sel.Name) {
			continue
		}
		if c.ParentEdgeKind() == edge.ValueSpec_Names || c.ParentEdgeKind() == edge.Field_Names {
			if c.ParentEdgeKind() == edge.Field_Names {
				return // a result: it goes to the caller
			}
			continue
		}
		handled = append(handled, c.Node())
		for guard := range c.Enclosing((*ast.IfStmt)(nil)) {
			if stmt := guard.Node().(*ast.IfStmt); !within(st.assign, stmt) && within(stmt, function.Node()) && r.remembers(stmt.Cond) {
				handled = append(handled, stmt.Cond)
			}
		}
	}
	graph := cfg.New(body(function), r.mayReturn)
	var from *cfg.Block
	at := -1
	for _, b := range graph.Blocks {
		for i, n := range b.Nodes {
			if within(st.assign, n) {
				from, at = b, i
			}
		}
	}
	if from == nil {
		return
	}
	handles := func(nodes []ast.Node) bool {
		return slices.ContainsFunc(nodes, func(n ast.Node) bool {
			return slices.ContainsFunc(handled, func(h ast.Node) bool { return within(h, n) })
		})
	}
	if handles(from.Nodes[at+1:]) {
		return
	}
	if from.Return() == nil {
		seen := map[*cfg.Block]bool{}
		var leaks func(b *cfg.Block) bool
		leaks = func(b *cfg.Block) bool {
			for _, next := range b.Succs {
				if seen[next] {
					continue
				}
				seen[next] = true
				if handles(next.Nodes) {
					continue
				}
				if next.Return() != nil || leaks(next) {
					return true
				}
			}
			return false
		}
		if !leaks(from) {
			return
		}
	}
	var edits []analysis.TextEdit
	if len(handled) == 0 && r.loop(st.cur) == nil {
		edits = []analysis.TextEdit{{Pos: st.assign.End(), End: st.assign.End(), NewText: []byte("\n" + r.indent(st.assign) + "defer " + span.Name() + ".End()")}}
	}
	r.report(st.assign, edits, "Defer "+span.Name()+".End()", "a path out of the function does not end %s, which is started here; defer %[1]s.End() in the block", span.Name())
}

// remembers reports whether cond has a bool variable, which may say whether the span was started.
func (r *reporter) remembers(cond ast.Expr) bool {
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, isVar := r.info.Uses[id].(*types.Var)
			found = found || isVar && types.Identical(v.Type().Underlying(), types.Typ[types.Bool])
		}
		return !found
	})
	return found
}

// handsOn reports whether the context goes to code that may end its span later: it is returned, kept, or
// given to a request.
func (r *reporter) handsOn(ctx types.Object) bool {
	return slices.ContainsFunc(r.mentions[ctx], func(c inspector.Cursor) bool {
		switch parent := c.Parent().Node().(type) {
		case *ast.ReturnStmt, *ast.CompositeLit, *ast.SendStmt:
			return true
		case *ast.AssignStmt:
			return c.ParentEdgeKind() == edge.AssignStmt_Rhs
		case *ast.KeyValueExpr:
			return c.ParentEdgeKind() == edge.KeyValueExpr_Value
		case *ast.CallExpr:
			fn := r.callee(parent)
			return fn != nil && (fn.Name() == "WithContext" || fn.Name() == "SetContext")
		}
		return false
	})
}

// loop returns the innermost loop in the function of c that runs c, or nil.
func (s *sites) loop(c inspector.Cursor) ast.Node {
	for l := range c.Parent().Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch n := l.Node().(type) {
		case *ast.ForStmt:
			if within(c.Node(), n.Body) {
				return n
			}
		case *ast.RangeStmt:
			if within(c.Node(), n.Body) {
				return n
			}
		default:
			return nil
		}
	}
	return nil
}

// mayReturn reports whether control may come back from call.
func (s *sites) mayReturn(call *ast.CallExpr) bool {
	if id, ok := call.Fun.(*ast.Ident); ok && s.info.Uses[id] == types.Universe.Lookup("panic") {
		return false
	}
	switch name := s.calls(call); {
	case name == "os.Exit", name == "runtime.Goexit":
		return false
	case strings.HasPrefix(name, "log.Fatal"), strings.HasPrefix(name, "log.Panic"),
		strings.HasPrefix(name, "(*testing.common).Fatal"), strings.HasPrefix(name, "(*testing.common).Skip"):
		return false
	}
	return true
}
