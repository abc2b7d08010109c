// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Import paths, and functions by [types.Func.FullName].
const (
	engine       = "github.com/spangate/spangate"
	gatePackage  = engine + "/otelgate"
	otelPackage  = "go.opentelemetry.io/otel"
	tracePackage = otelPackage + "/trace"

	funcOn             = "(*" + engine + ".Gate).On"
	funcOnContext      = "(*" + engine + ".Gate).OnContext"
	funcLoad           = "(*" + engine + ".Gate).Load"
	funcDo             = gatePackage + ".Do"
	funcGatedTracer    = "(*" + gatePackage + ".TracerProvider).Tracer"
	funcStart          = "(" + tracePackage + ".Tracer).Start"
	funcEnd            = "(" + tracePackage + ".Span).End"
	funcTracer         = "(" + tracePackage + ".TracerProvider).Tracer"
	funcSpan           = tracePackage + ".SpanFromContext"
	funcWithAttributes = tracePackage + ".WithAttributes"
	funcGlobalTracer   = otelPackage + ".Tracer"
	funcInstall        = otelPackage + ".SetTracerProvider"
)

// sitesAnalyzer finds what the rules look at: starts of spans, decisions of gates, and through
// facts the wrappers of both and what the packages beneath have.
var sitesAnalyzer = &analysis.Analyzer{
	Name:       "spangatesites",
	Doc:        "find spans, gates and catalogs for the other analyzers",
	Run:        findSites,
	ResultType: reflect.TypeFor[*sites](),
	FactTypes:  []analysis.Fact{new(startFact), new(onFact), new(installFact), new(program)},
}

// startFact marks a function that starts a span and returns it with its context.
type startFact struct{ Gated bool }

// onFact marks a function whose result is that of [spangate.Gate.On], or On and more conditions.
type onFact struct{ Param int } // the parameter that is the mask, or -1

// installFact marks a function that installs a global provider.
type installFact struct{}

func (*startFact) AFact()   {}
func (*onFact) AFact()      {}
func (*installFact) AFact() {}

func (f *startFact) String() string { return "starts a span" }
func (f *onFact) String() string    { return "asks a gate" }
func (*installFact) String() string { return "installs a provider" }

// sites is what one package has. It is read-only once made.
type sites struct {
	pass     *analysis.Pass
	info     *types.Info
	root     inspector.Cursor
	known    program                             // of this package and all that it imports
	mentions map[types.Object][]inspector.Cursor // definitions and uses
	starts   []*start
}

// start is a call that starts a span: of [trace.Tracer], or of a wrapper.
type start struct {
	cur       inspector.Cursor // of the call
	call      *ast.CallExpr
	assign    *ast.AssignStmt // the statement `ctx, span := call`, or nil
	ctx, span types.Object    // what it assigns to, or nil
	gated     bool            // the tracer is known to be a gated one, or the wrapper asks a gate
}

func findSites(pass *analysis.Pass) (any, error) {
	s := &sites{pass: pass, info: pass.TypesInfo}
	relevant := false
	for _, p := range pass.Pkg.Imports() {
		var known program
		if pass.ImportPackageFact(p, &known) {
			s.known.merge(&known)
			relevant = true
		}
		relevant = relevant || p.Path() == engine || p.Path() == tracePackage || p.Path() == otelPackage
	}
	if !relevant {
		return s, nil
	}
	s.root = inspector.New(pass.Files).Root()
	s.mentions = map[types.Object][]inspector.Cursor{}
	for c := range s.root.Preorder((*ast.Ident)(nil)) {
		if obj := s.info.ObjectOf(c.Node().(*ast.Ident)); obj != nil {
			s.mentions[obj] = append(s.mentions[obj], c)
		}
	}
	s.findWrappers()
	for c := range s.root.Preorder((*ast.CallExpr)(nil)) {
		if st := s.startOf(c); st != nil {
			s.starts = append(s.starts, st)
		}
	}
	s.learn()
	s.known.sort()
	pass.ExportPackageFact(&s.known)
	return s, nil
}

// findWrappers exports the facts of this package's functions, until there are no more: a wrapper
// may call another.
func (s *sites) findWrappers() {
	for changed := true; changed; {
		changed = false
		for c := range s.root.Preorder((*ast.FuncDecl)(nil)) {
			decl := c.Node().(*ast.FuncDecl)
			fn, _ := s.info.Defs[decl.Name].(*types.Func)
			if fn == nil || decl.Body == nil {
				continue
			}
			for _, fact := range []analysis.Fact{s.startWrapper(c, fn), s.onWrapper(decl, fn), s.installer(c)} {
				if !reflect.ValueOf(fact).IsNil() && !s.pass.ImportObjectFact(fn, reflect.New(reflect.TypeOf(fact).Elem()).Interface().(analysis.Fact)) {
					s.pass.ExportObjectFact(fn, fact)
					changed = true
				}
			}
		}
	}
}

// startWrapper returns a fact if fn returns the span of a start in its body.
func (s *sites) startWrapper(c inspector.Cursor, fn *types.Func) *startFact {
	results := fn.Signature().Results()
	if !returnsSpan(results) {
		return nil
	}
	var fact *startFact
	for call := range c.Preorder((*ast.CallExpr)(nil)) {
		st := s.startOf(call)
		if st == nil || s.function(call) != c {
			continue
		}
		returned := call.ParentEdgeKind() == edge.ReturnStmt_Results
		for _, use := range s.mentions[st.span] {
			returned = returned || use.ParentEdgeKind() == edge.ReturnStmt_Results || st.span == results.At(1)
		}
		if returned {
			fact = &startFact{Gated: st.gated || s.guard(call) != nil}
		}
	}
	return fact
}

// onWrapper returns a fact if fn only returns a decision.
func (s *sites) onWrapper(decl *ast.FuncDecl, fn *types.Func) *onFact {
	if len(decl.Body.List) != 1 {
		return nil
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return nil
	}
	d := s.positive(ret.Results[0])
	if d == nil || d.variable != nil {
		return nil
	}
	fact := &onFact{Param: -1}
	if d.mask != nil {
		for i := range fn.Signature().Params().Len() {
			if s.object(d.mask) == fn.Signature().Params().At(i) {
				fact.Param = i
			}
		}
	}
	return fact
}

// calls returns the name of the function that call calls, or "" if that is not known.
func (s *sites) calls(e ast.Expr) string {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	if fn := s.callee(call); fn != nil {
		return fn.FullName()
	}
	return ""
}

func (s *sites) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(s.info, call).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

func returnsSpan(results *types.Tuple) bool {
	return results.Len() == 2 && isNamed(results.At(0).Type(), "context", "Context") && isNamed(results.At(1).Type(), tracePackage, "Span")
}

// startOf returns the start at c, a call, or nil.
func (s *sites) startOf(c inspector.Cursor) *start {
	call := c.Node().(*ast.CallExpr)
	fn := s.callee(call)
	if fn == nil {
		return nil
	}
	st := &start{cur: c, call: call}
	var fact startFact
	switch {
	case fn.FullName() == funcStart:
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			st.gated = s.gatedTracer(sel.X)
		}
	case s.pass.ImportObjectFact(fn, &fact):
		st.gated = fact.Gated
	default:
		return nil
	}
	if assign, ok := c.Parent().Node().(*ast.AssignStmt); ok && len(assign.Lhs) == 2 && len(assign.Rhs) == 1 {
		st.assign = assign
		st.ctx, st.span = s.object(assign.Lhs[0]), s.object(assign.Lhs[1])
	}
	return st
}

// gatedTracer reports whether every value that e may have comes from an otelgate.TracerProvider.
func (s *sites) gatedTracer(e ast.Expr) bool {
	if s.calls(e) == funcGatedTracer {
		return true
	}
	obj := s.object(e)
	if obj == nil || obj.Pkg() != s.pass.Pkg {
		return false
	}
	values, all := s.values(obj)
	return all && len(values) > 0 && !slices.ContainsFunc(values, func(v value) bool { return s.calls(v.expr) != funcGatedTracer })
}

// object returns the variable, constant or field that e denotes, without & and *, or nil.
func (s *sites) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if e.Name == "_" {
			return nil
		}
		return s.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return s.info.ObjectOf(e.Sel)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return s.object(e.X)
		}
	case *ast.StarExpr:
		return s.object(e.X)
	}
	return nil
}

// value is one that a variable or field gets somewhere in the package.
type value struct {
	cur  inspector.Cursor // of the name
	expr ast.Expr         // of a call with several results, the call
}

// values returns what obj is assigned, and whether that is all: it is not for a parameter, for what a
// range sets, and if the address is taken.
func (s *sites) values(obj types.Object) (list []value, all bool) {
	all = true
	for _, c := range s.mentions[obj] {
		id := c
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		kind, i := c.ParentEdge()
		switch parent := c.Parent().Node().(type) {
		case *ast.AssignStmt:
			switch {
			case kind != edge.AssignStmt_Lhs:
			case parent.Tok != token.ASSIGN && parent.Tok != token.DEFINE:
				all = false
			default:
				list = append(list, value{id, parent.Rhs[min(i, len(parent.Rhs)-1)]})
			}
		case *ast.ValueSpec:
			if kind == edge.ValueSpec_Names && len(parent.Values) > 0 {
				list = append(list, value{id, parent.Values[min(i, len(parent.Values)-1)]})
			}
		case *ast.KeyValueExpr:
			if v, ok := obj.(*types.Var); ok && v.IsField() && kind == edge.KeyValueExpr_Key {
				list = append(list, value{id, parent.Value})
			}
		case *ast.Field, *ast.IncDecStmt:
			v, ok := obj.(*types.Var)
			all = all && ok && v.IsField()
		case *ast.RangeStmt:
			all = all && kind != edge.RangeStmt_Key && kind != edge.RangeStmt_Value
		case *ast.UnaryExpr:
			all = all && parent.Op != token.AND
		}
	}
	return list, all
}

// value returns the one value that e, a variable, ever has in this package, or e.
func (s *sites) value(e ast.Expr) ast.Expr {
	if obj, ok := s.object(e).(*types.Var); ok && obj.Pkg() == s.pass.Pkg {
		if values, all := s.values(obj); all && len(values) == 1 {
			return values[0].expr
		}
	}
	return ast.Unparen(e)
}

// constant returns the value of e, an integer constant.
func (s *sites) constant(e ast.Expr) (uint64, bool) {
	if v := s.info.Types[e].Value; v != nil && v.Kind() == constant.Int {
		return constant.Uint64Val(v)
	}
	return 0, false
}

// text returns the value of e, a string constant.
func (s *sites) text(e ast.Expr) (string, bool) {
	if v := s.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v), true
	}
	return "", false
}

// function returns the cursor of the function that c is in: a *ast.FuncDecl or *ast.FuncLit.
func (s *sites) function(c inspector.Cursor) inspector.Cursor {
	for f := range c.Parent().Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		return f
	}
	return s.root
}

func body(function inspector.Cursor) *ast.BlockStmt {
	switch f := function.Node().(type) {
	case *ast.FuncDecl:
		return f.Body
	case *ast.FuncLit:
		return f.Body
	}
	return nil
}

// isNamed reports whether t, or what it points to, is the named type of the package.
func isNamed(t types.Type, path, name string) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

// inTest reports whether n is in a test file.
func (s *sites) inTest(n ast.Node) bool {
	return strings.HasSuffix(s.pass.Fset.File(n.Pos()).Name(), "_test.go")
}

// within reports whether n is in outer.
func within(n, outer ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }
