// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// EagerWork reports attributes and formatting for a span that are computed although it is off.
var EagerWork = rule("eagerwork", "check that work for a span is done only while it is on", eagerWork)

func eagerWork(r *reporter) {
	// What a test costs does not matter.
	for c := range r.root.Preorder((*ast.IfStmt)(nil)) {
		if !r.inTest(c.Node()) {
			r.workAbove(c)
		}
	}
	for c := range r.root.Preorder((*ast.CallExpr)(nil)) {
		if call := c.Node().(*ast.CallExpr); r.calls(call) == funcDo && r.guard(c) == nil && !r.inTest(call) && !r.mayKeepErrors(call) {
			r.workInArguments(c, call, nil)
		}
	}
	for _, st := range r.starts {
		if st.gated && r.guard(st.cur) == nil && !r.inTest(st.call) {
			r.workInArguments(st.cur, st.call, st)
		}
	}
}

// mayKeepErrors reports whether the options of call, a Do, may have OnError, which uses the name and
// attributes while the span is off.
func (r *reporter) mayKeepErrors(call *ast.CallExpr) bool {
	return call.Ellipsis.IsValid() || slices.ContainsFunc(call.Args[min(4, len(call.Args)):], func(e ast.Expr) bool {
		return !strings.HasPrefix(r.calls(e), tracePackage+".With")
	})
}

// workAbove reports the statements right before `if gate.On(…)` that make what only its block uses.
func (r *reporter) workAbove(c inspector.Cursor) {
	guard := c.Node().(*ast.IfStmt)
	d := r.positive(guard.Cond)
	if d == nil || d.variable != nil || c.ParentEdgeKind() != edge.BlockStmt_List {
		return
	}
	type candidate struct {
		stmt      ast.Node
		variables []*types.Var
		values    []ast.Expr
		distance  int // to the guard, in statements
	}
	var moved []candidate
	distance := 0
	for before, ok := c.PrevSibling(); ok; before, ok = before.PrevSibling() {
		if variables, values := r.makes(before.Node()); len(variables) > 0 {
			moved = append(moved, candidate{before.Node(), variables, values, distance})
		}
		distance++
	}
	// Drop what the code elsewhere uses, and what may change on the way to the guard, until the rest
	// can move as a whole.
	// What the statement does before its block counts as one on the way.
	runs := guard.Init != nil
	ast.Inspect(guard.Cond, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		runs = runs || ok && call != d.call
		return n != d.call
	})
	for dropped := true; dropped; {
		nodes := []ast.Node{guard.Body}
		for _, m := range moved {
			nodes = append(nodes, m.stmt)
		}
		near := 0
		before := len(moved)
		moved = slices.DeleteFunc(moved, func(m candidate) bool {
			if m.distance == near {
				near++
			}
			return !r.onlyIn(m.variables, nodes) || (runs || m.distance >= near) && !r.stable(m.values)
		})
		dropped = len(moved) < before
	}
	works := false
	var names []string
	for _, m := range slices.Backward(moved) {
		works = works || slices.ContainsFunc(m.values, r.isWork)
		for _, v := range m.variables {
			if !slices.Contains(names, v.Name()) {
				names = append(names, v.Name())
			}
		}
	}
	if !works {
		return
	}
	first, last := moved[len(moved)-1], moved[0]
	var edits []analysis.TextEdit
	all := span{first.stmt.Pos(), last.stmt.End()}
	if guard.Init == nil && r.beginsLine(guard.Body) && first.distance == len(moved)-1 && !r.spansLines(all) && !r.commentBetween(last.stmt.End(), guard.Pos()) {
		at, indent := guard.Body.Lbrace+1, "\n"+r.indent(guard)+"\t"
		edits = []analysis.TextEdit{r.removeLine(all), {Pos: at, End: at, NewText: []byte(indent + strings.ReplaceAll(r.source(all), "\n", "\n\t"))}}
	}
	r.report(first.stmt, edits, "Move into the block",
		"%s: used only if %s, but made either way; move it into the block", strings.Join(names, ", "), d.text())
}

// span is a part of a file.
type span struct{ pos, end token.Pos }

func (s span) Pos() token.Pos { return s.pos }
func (s span) End() token.Pos { return s.end }

// spansLines reports whether a string in s is of several lines, so that to indent would change it.
func (r *reporter) spansLines(s span) bool {
	for c := range r.root.Preorder((*ast.BasicLit)(nil)) {
		if lit := c.Node(); within(lit, s) && strings.Contains(lit.(*ast.BasicLit).Value, "\n") {
			return true
		}
	}
	return false
}

// commentBetween reports whether a comment begins on a line of its own between pos and end.
func (r *reporter) commentBetween(pos, end token.Pos) bool {
	for _, f := range r.pass.Files {
		for _, c := range f.Comments {
			if pos <= c.Pos() && c.End() <= end && r.pass.Fset.Position(pos).Line < r.pass.Fset.Position(c.Pos()).Line {
				return true
			}
		}
	}
	return false
}

// makes returns the local variables that stmt, `x := f(y)` or the like, sets and the values that it
// evaluates for them, or nil if it may do more than that.
func (r *reporter) makes(stmt ast.Node) (variables []*types.Var, values []ast.Expr) {
	var names []ast.Expr
	switch n := stmt.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
			return nil, nil
		}
		names, values = n.Lhs, n.Rhs
	case *ast.DeclStmt:
		decl, ok := n.Decl.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR || len(decl.Specs) != 1 {
			return nil, nil
		}
		spec := decl.Specs[0].(*ast.ValueSpec)
		for _, id := range spec.Names {
			names = append(names, id)
		}
		values = spec.Values
	default:
		return nil, nil
	}
	for _, e := range names {
		id, ok := e.(*ast.Ident)
		if !ok {
			return nil, nil
		}
		v, ok := r.info.ObjectOf(id).(*types.Var)
		if !ok || globalName(v) != "" || v.Pkg() != r.pass.Pkg {
			return nil, nil
		}
		variables = append(variables, v)
	}
	if slices.ContainsFunc(values, func(e ast.Expr) bool { return !r.pure(e) }) {
		return nil, nil
	}
	return variables, values
}

// onlyIn reports whether all mentions of the variables are in the nodes, and each is declared in one
// of them or above.
func (r *reporter) onlyIn(variables []*types.Var, nodes []ast.Node) bool {
	for _, v := range variables {
		for _, c := range r.mentions[v] {
			if !slices.ContainsFunc(nodes, func(n ast.Node) bool { return within(c.Node(), n) }) {
				return false
			}
		}
	}
	return true
}

// stable reports whether the values are the same wherever they are evaluated: of constants, and of
// variables that hold no memory and are set once.
func (r *reporter) stable(values []ast.Expr) bool {
	stable := true
	for _, e := range values {
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if _, isPackage := r.info.Uses[rootIdent(n)].(*types.PkgName); isPackage {
					return false
				}
				stable = stable && r.info.Selections[n] != nil && r.info.Selections[n].Kind() == types.MethodVal
			case *ast.IndexExpr, *ast.StarExpr, *ast.SliceExpr:
				stable = false
			case *ast.Ident:
				if v, ok := r.info.Uses[n].(*types.Var); ok {
					_, basic := v.Type().Underlying().(*types.Basic)
					values, all := r.values(v)
					parameter := slices.ContainsFunc(r.mentions[v], func(c inspector.Cursor) bool { return c.ParentEdgeKind() == edge.Field_Names })
					stable = stable && basic && !v.IsField() && globalName(v) == "" && (all && len(values) == 1 || parameter && len(values) == 0)
				}
			}
			return true
		})
	}
	return stable
}

func rootIdent(sel *ast.SelectorExpr) *ast.Ident {
	id, _ := sel.X.(*ast.Ident)
	return id
}

// isWork reports whether e calls a function.
func (r *reporter) isWork(e ast.Expr) bool {
	work := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && r.callee(call) != nil {
			work = true
		}
		return !work
	})
	return work
}

// pure reports whether e only reads memory and formats: it may be evaluated later or never.
func (r *reporter) pure(e ast.Expr) bool {
	pure := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			pure = pure && r.pureCall(n)
		case *ast.FuncLit:
			pure = false
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		}
		return pure
	})
	return pure
}

func (r *reporter) pureCall(call *ast.CallExpr) bool {
	if tv := r.info.Types[call.Fun]; tv.IsType() {
		return true
	} else if tv.IsBuiltin() {
		id, _ := ast.Unparen(call.Fun).(*ast.Ident)
		return id != nil && slices.Contains([]string{"append", "cap", "len", "make", "max", "min", "new"}, id.Name)
	}
	fn := r.callee(call)
	if fn == nil || fn.Pkg() == nil && fn.Name() != "Error" {
		return false
	}
	signature := fn.Signature()
	if signature.Recv() != nil {
		if isNamed(signature.Recv().Type(), otelPackage+"/attribute", "Key") {
			return true
		}
		return signature.Params().Len() == 0 && (fn.Name() == "String" || fn.Name() == "Error")
	}
	switch p := fn.Pkg().Path(); p {
	case "fmt":
		return strings.HasPrefix(fn.Name(), "Sprint")
	case "strconv", "strings", otelPackage + "/attribute":
		return true
	default:
		return strings.HasPrefix(p, otelPackage+"/semconv/") || p == tracePackage && strings.HasPrefix(fn.Name(), "With")
	}
}

// workInArguments reports formatting and attributes among the arguments of a Start or Do.
func (r *reporter) workInArguments(c inspector.Cursor, call *ast.CallExpr, st *start) {
	for i, arg := range call.Args {
		option, ok := ast.Unparen(arg).(*ast.CallExpr)
		switch {
		case r.info.TypeOf(arg) == types.Typ[types.String]:
			if r.formats(arg) {
				r.report(arg, nil, "", "the name is formatted while the span is off, too; use a constant name, and an attribute for what differs")
			}
		case ok && r.calls(option) == funcWithAttributes && slices.ContainsFunc(option.Args, func(e ast.Expr) bool { return r.madeFor(call, e) }):
			r.report(option, r.setInside(c, call, st, i, option), "Set the attributes if the span records",
				"these attributes are made while the span is off, too; set them on the span if it is recording")
		}
	}
}

// formats reports whether e calls a function of fmt, strconv or strings.
func (r *reporter) formats(e ast.Expr) bool {
	formats := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fn := r.callee(call); fn != nil && fn.Pkg() != nil && slices.Contains([]string{"fmt", "strconv", "strings"}, fn.Pkg().Path()) {
				formats = true
			}
		}
		return !formats
	})
	return formats
}

// madeFor reports whether e, an attribute or list of attributes, is computed for call: by a function
// from what is not constant, or in a variable that is used only there.
func (r *reporter) madeFor(call *ast.CallExpr, e ast.Expr) bool {
	if v, ok := r.object(e).(*types.Var); ok && v.Pkg() == r.pass.Pkg && !v.IsField() && globalName(v) == "" {
		nodes := []ast.Node{call}
		work := false
		for _, c := range r.mentions[v] {
			variables, values := r.makes(c.Parent().Node())
			if len(variables) == 1 && variables[0] == v {
				nodes = append(nodes, c.Parent().Node())
				work = work || slices.ContainsFunc(values, r.varies)
			}
		}
		return work && r.onlyIn([]*types.Var{v}, append(nodes, r.appends(v)...))
	}
	return r.varies(e)
}

// appends returns the statements v = append(v, …).
func (r *reporter) appends(v *types.Var) (list []ast.Node) {
	for _, c := range r.mentions[v] {
		for stmt := range c.Enclosing((*ast.AssignStmt)(nil)) {
			if variables, _ := r.makes(stmt.Node()); len(variables) == 1 && variables[0] == v {
				list = append(list, stmt.Node())
			}
			break
		}
	}
	return list
}

// varies reports whether e calls a function with an argument that is not a constant.
func (r *reporter) varies(e ast.Expr) bool {
	varies := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && r.callee(call) != nil {
			varies = varies || slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return r.info.Types[e].Value == nil })
		}
		return !varies
	})
	return varies
}

// setInside returns the edits that move the attributes from the option, argument i of the call,
// behind the start or into the function of Do.
func (r *reporter) setInside(c inspector.Cursor, call *ast.CallExpr, st *start, i int, option *ast.CallExpr) []analysis.TextEdit {
	if i == 0 || !r.callee(call).Signature().Variadic() || i < r.callee(call).Signature().Params().Len()-1 {
		return nil // it can't be left out
	}
	last := option.Args[len(option.Args)-1]
	attributes := r.source(span{option.Args[0].Pos(), last.End()})
	if option.Ellipsis.IsValid() {
		attributes += "..."
	}
	if r.spansLines(span{option.Pos(), option.End()}) || slices.ContainsFunc(option.Args, func(e ast.Expr) bool { return !r.pure(e) }) {
		return nil
	}
	remove := analysis.TextEdit{Pos: call.Args[i-1].End(), End: call.Args[i].End()}
	var at token.Pos
	var name, indent string
	switch {
	case st == nil: // Do: at the beginning of its function
		lit, ok := ast.Unparen(call.Args[3]).(*ast.FuncLit)
		if !ok {
			return nil
		}
		params := lit.Type.Params.List
		names := params[len(params)-1].Names
		if len(names) == 0 || names[len(names)-1].Name == "_" || !r.beginsLine(lit.Body) {
			return nil
		}
		name, at, indent = names[len(names)-1].Name, lit.Body.Lbrace+1, r.indent(lit.Body.List[0])
	default:
		if st.span == nil || st.assign == nil || c.Parent().ParentEdgeKind() != edge.BlockStmt_List {
			return nil
		}
		name, at, indent = st.span.Name(), st.assign.End(), r.indent(st.assign)
	}
	if name == "" || strings.Contains(attributes, name+".") {
		return nil
	}
	text := "\n" + indent + "if " + name + ".IsRecording() {\n" + indent + "\t" + name + ".SetAttributes(" + attributes + ")\n" + indent + "}"
	return []analysis.TextEdit{remove, {Pos: at, End: at, NewText: []byte(text)}}
}
