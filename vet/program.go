// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/spangate/spangate"
)

// program is the fact of a package: what it and all packages that it imports have. A driver hands on
// the facts of direct imports only, so each package repeats those beneath. Variables and constants
// are named by package path, dot and name.
type program struct {
	Catalogs []catalog
	Gates    []gateCatalog
	Gated    []gated
	Computed []string // packages with a site whose groups are not constants
	Tracers  []string // package variables whose value is a tracer of the global provider
	Enders   []ender
}

// catalog is one whose groups and presets are known.
type catalog struct {
	Name      string // of the variable, if it is one of a package
	Namespace string
	Bases     []string // the catalogs that it extends
	Groups    []group
	Presets   []preset
}

type group struct {
	Name     string
	Bit      uint64
	Constant string // or empty
}

type preset struct {
	Name string
	Mask uint64
}

// gateCatalog is a gate that is registered with a catalog.
type gateCatalog struct{ Gate, Catalog string }

// gated is a site: the groups, and the constants that name them.
type gated struct {
	Mask      uint64
	Constants string // joined by spaces
}

// ender is a package that ends a span which it fetched from the context, and a scope of its tracers.
type ender struct{ Package, Scope string }

func (*program) AFact() {}

func (p *program) String() string { return "program" }

func (p *program) merge(q *program) {
	p.Catalogs = append(p.Catalogs, q.Catalogs...)
	p.Gates = append(p.Gates, q.Gates...)
	p.Gated = append(p.Gated, q.Gated...)
	p.Computed = append(p.Computed, q.Computed...)
	p.Tracers = append(p.Tracers, q.Tracers...)
	p.Enders = append(p.Enders, q.Enders...)
}

// sort drops duplicates and makes the order that of the content, since facts are part of what a
// build is cached by.
func (p *program) sort() {
	slices.SortFunc(p.Catalogs, func(a, b catalog) int { return cmp.Compare(a.Name, b.Name) })
	p.Catalogs = slices.CompactFunc(p.Catalogs, func(a, b catalog) bool { return a.Name == b.Name })
	p.Gates = distinct(p.Gates, func(g gateCatalog) string { return g.Gate + " " + g.Catalog })
	p.Gated = distinct(p.Gated, func(g gated) string { return spangate.Mask(g.Mask).String() + g.Constants })
	p.Computed = distinct(p.Computed, strings.Clone)
	p.Tracers = distinct(p.Tracers, strings.Clone)
	p.Enders = distinct(p.Enders, func(e ender) string { return e.Package + " " + e.Scope })
}

func distinct[T comparable](list []T, key func(T) string) []T {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return slices.Compact(list)
}

// globalName names a package variable or constant, or returns "".
func globalName(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

// learn adds what this package has.
func (s *sites) learn() {
	for id, obj := range s.info.Defs {
		v, ok := obj.(*types.Var)
		if !ok || globalName(v) == "" || s.inTest(id) {
			continue
		}
		if isNamed(v.Type(), engine, "Catalog") {
			if c, ok := s.catalog(id); ok {
				s.known.Catalogs = append(s.known.Catalogs, c)
			}
		}
		if values, _ := s.values(v); slices.ContainsFunc(values, func(v value) bool { return v.cur.Parent().Node() != nil && s.globalTracer(v) }) {
			s.known.Tracers = append(s.known.Tracers, globalName(v))
		}
	}
	for c := range s.root.Preorder((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil), (*ast.Ident)(nil), (*ast.BinaryExpr)(nil)) {
		if s.inTest(c.Node()) {
			continue
		}
		switch n := c.Node().(type) {
		case *ast.CallExpr:
			s.learnCall(c, n)
		case *ast.CompositeLit:
			if isNamed(s.info.TypeOf(n), gatePackage, "Rule") {
				if mask := field(n, "Group"); mask != nil {
					s.learnSite(c, mask)
				} else if len(n.Elts) > 0 && !hasKeys(n) {
					s.computed()
				}
			}
		case *ast.BinaryExpr: // gate.Load()&bit
			if n.Op == token.AND && isNamed(s.info.TypeOf(n), engine, "Mask") && s.info.Types[n].Value == nil {
				for _, e := range []ast.Expr{n.X, n.Y} {
					if _, ok := s.constant(e); ok {
						s.learnSite(c, e)
					}
				}
			}
		case *ast.Ident:
			s.learnUse(c, n)
		}
	}
	for _, name := range s.pass.IgnoredFiles { // sites with other build tags
		if content, err := s.pass.ReadFile(name); err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && strings.Contains(string(content), ".On") {
			s.computed()
		}
	}
	s.known.Enders = append(s.known.Enders, s.enders()...)
}

// globalTracer reports whether v is set before main runs, by its declaration or in an init function,
// to a tracer of the global provider.
func (s *sites) globalTracer(v value) bool {
	if f, ok := s.function(v.cur).Node().(*ast.FuncDecl); ok && f.Name.Name != "init" {
		return false
	}
	if s.calls(v.expr) == funcGlobalTracer {
		return true
	}
	if s.calls(v.expr) != funcTracer {
		return false
	}
	sel, ok := ast.Unparen(ast.Unparen(v.expr).(*ast.CallExpr).Fun).(*ast.SelectorExpr)
	return ok && s.calls(sel.X) == otelPackage+".GetTracerProvider"
}

// learnUse records sites that can't be followed: gate.On or a wrapper as a value, On of an interface, and
// the group of a rule that is set later.
func (s *sites) learnUse(c inspector.Cursor, id *ast.Ident) {
	if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
		c = c.Parent()
	}
	switch obj := s.info.Uses[id].(type) {
	case *types.Func:
		called := c.ParentEdgeKind() == edge.CallExpr_Fun
		name, signature := obj.FullName(), obj.Signature()
		ofInterface := signature.Recv() != nil && types.IsInterface(signature.Recv().Type())
		switch {
		case ofInterface && (obj.Name() == "On" || obj.Name() == "OnContext"):
			if n := signature.Params().Len(); n > 0 && isNamed(signature.Params().At(n-1).Type(), engine, "Mask") {
				s.computed()
			}
		case !called && (name == funcOn || name == funcOnContext || s.pass.ImportObjectFact(obj.Origin(), new(onFact))):
			s.computed()
		}
	case *types.Var:
		if obj.IsField() && obj.Name() == "Group" && obj.Pkg().Path() == gatePackage && c.ParentEdgeKind() == edge.AssignStmt_Lhs {
			s.computed()
		}
	}
}

// hasKeys reports whether the elements of lit have keys.
func hasKeys(lit *ast.CompositeLit) bool {
	_, ok := lit.Elts[0].(*ast.KeyValueExpr)
	return ok
}

func (s *sites) learnCall(c inspector.Cursor, call *ast.CallExpr) {
	fn := s.callee(call)
	if fn == nil {
		return
	}
	var on onFact
	switch name := fn.FullName(); {
	case name == funcOn, name == "(*"+gatePackage+".TracerProvider).Group":
		s.learnSite(c, call.Args[0])
	case name == funcOnContext && len(call.Args) == 2:
		s.learnSite(c, call.Args[1])
	case name == "("+engine+".Mask).HasAny", name == "("+engine+".Mask).HasAll": // of Load
		if _, ok := s.constant(call.Args[0]); ok {
			s.learnSite(c, call.Args[0])
		}
	case name == gatePackage+".HTTPRules" && len(call.Args) == 2:
		s.learnSite(c, call.Args[0])
		s.learnSite(c, call.Args[1])
	case name == gatePackage+".Discover", name == "("+gatePackage+".NamedRules).Rules",
		name == engine+"/setup.Rules", name == engine+"/setup.RulesText", name == engine+"/setup.ReadyRules":
		s.computed()
	case name == "(*"+engine+"/registry.Registry).Register" || name == engine+"/setup.Catalog":
		if len(call.Args) >= 2 {
			gate, catalog := globalName(s.object(call.Args[1])), globalName(s.object(call.Args[0]))
			if gate != "" && catalog != "" {
				s.known.Gates = append(s.known.Gates, gateCatalog{gate, catalog})
			}
		}
	case s.pass.ImportObjectFact(fn, &on) && on.Param >= 0 && on.Param < len(call.Args):
		s.learnSite(c, call.Args[on.Param])
	}
}

// computed records that a site of this package has groups that are not constants. Those of the
// engine's own packages get theirs from rules and catalogs.
func (s *sites) computed() {
	switch path, _ := strings.CutPrefix(s.pass.Pkg.Path(), engine); path {
	case "", "/otelgate", "/registry", "/control", "/setup":
	default:
		s.known.Computed = append(s.known.Computed, s.pass.Pkg.Path())
	}
}

// learnSite records the site whose groups are mask.
func (s *sites) learnSite(c inspector.Cursor, mask ast.Expr) {
	if f, ok := s.function(c).Node().(*ast.FuncDecl); ok {
		var on onFact
		fn, _ := s.info.Defs[f.Name].(*types.Func)
		if fn != nil && s.pass.ImportObjectFact(fn, &on) && on.Param >= 0 && s.object(mask) == fn.Signature().Params().At(on.Param) {
			return // the callers of a wrapper are the sites
		}
	}
	exprs := []ast.Expr{mask}
	if _, ok := s.constant(mask); !ok {
		obj, _ := s.object(mask).(*types.Var)
		if obj == nil || obj.Pkg() != s.pass.Pkg {
			s.computed()
			return
		}
		values, all := s.values(obj)
		if !all || len(values) == 0 {
			s.computed()
			return
		}
		exprs = exprs[:0]
		for _, v := range values {
			exprs = append(exprs, v.expr)
		}
	}
	for _, e := range exprs {
		m, ok := s.constant(e)
		if !ok {
			s.computed()
			return
		}
		var names []string
		for _, k := range s.constants(e) {
			names = append(names, globalName(k))
		}
		s.known.Gated = append(s.known.Gated, gated{m, strings.Join(names, " ")})
	}
}

// constants returns the constants of type spangate.Mask that e names.
func (s *sites) constants(e ast.Expr) (list []*types.Const) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if k, ok := s.info.Uses[id].(*types.Const); ok && globalName(k) != "" && isNamed(k.Type(), engine, "Mask") {
				list = append(list, k)
			}
		}
		return true
	})
	return list
}

// enders returns the scopes of this package if one of its functions ends a span that it fetched.
func (s *sites) enders() (list []ender) {
	ends := false
	for c := range s.root.Preorder((*ast.CallExpr)(nil)) {
		if s.calls(c.Node().(*ast.CallExpr)) != funcSpan || s.inTest(c.Node()) {
			continue
		}
		if s.ended(c.Parent()) {
			ends = true
		}
		kind, i := c.ParentEdge()
		if assign, ok := c.Parent().Node().(*ast.AssignStmt); ok && kind == edge.AssignStmt_Rhs && i < len(assign.Lhs) {
			obj := s.object(assign.Lhs[i])
			if v, ok := obj.(*types.Var); ok && !v.IsField() {
				for _, use := range s.mentions[obj] {
					ends = ends || s.ended(use.Parent())
				}
			}
		}
	}
	if !ends {
		return nil
	}
	for c := range s.root.Preorder((*ast.CallExpr)(nil)) {
		call := c.Node().(*ast.CallExpr)
		if fn := s.callee(call); fn != nil && fn.Name() == "Tracer" && len(call.Args) > 0 && isNamed(s.info.TypeOf(call), tracePackage, "Tracer") {
			if scope, ok := s.text(call.Args[0]); ok {
				list = append(list, ender{s.pass.Pkg.Path(), scope})
			}
		}
	}
	if list == nil {
		list = []ender{{Package: s.pass.Pkg.Path()}}
	}
	return list
}

// ended reports whether c is the selector of a call of Span.End.
func (s *sites) ended(c inspector.Cursor) bool {
	sel, ok := c.Node().(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, _ := s.info.Uses[sel.Sel].(*types.Func)
	return fn != nil && fn.FullName() == funcEnd
}

// field returns the value of a field of a composite literal with keys, or nil.
func field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}
