// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// EarlyTracer reports a second global provider that tracers fetched before do not follow:
// OpenTelemetry hands them to the first that is installed, for good.
var EarlyTracer = rule("earlytracer", "check that no tracer is fetched before the provider that it is meant for", earlyTracer)

func earlyTracer(r *reporter) {
	for c := range r.root.Preorder((*ast.CallExpr)(nil)) {
		call := c.Node().(*ast.CallExpr)
		if r.calls(call) != funcInstall || r.inTest(call) || !r.realProvider(call) {
			continue
		}
		between, installed := r.installedBefore(c)
		if !installed {
			continue
		}
		fetched := r.known.Tracers
		if len(fetched) > 3 {
			fetched = append(append([]string(nil), fetched[:3]...), "more")
		}
		switch {
		case between:
			r.report(call, nil, "", "a tracer is fetched between two providers: it stays with the one before; install this provider first, and once")
		case len(fetched) > 0:
			r.report(call, nil, "", "this is the second global provider, and tracers in package variables (%s) stay with the first; install this one alone", strings.Join(fetched, ", "))
		}
	}
}

// realProvider reports whether call installs a provider for the program: neither a no-op one, as when it
// ends, nor one that was installed before.
func (s *sites) realProvider(call *ast.CallExpr) bool {
	e := s.value(call.Args[0])
	if name := s.calls(e); name == otelPackage+".GetTracerProvider" || strings.HasPrefix(name, tracePackage+"/noop.") {
		return false
	}
	return !isNamed(s.info.TypeOf(e), tracePackage+"/noop", "TracerProvider")
}

// installedBefore reports whether a provider is always installed before the call at c in its function,
// and whether a tracer is fetched in between.
func (r *reporter) installedBefore(c inspector.Cursor) (fetched, installed bool) {
	function := r.function(c)
	for ; c != function && c.Parent().Node() != nil; c = c.Parent() {
		if c.ParentEdgeKind() == edge.IfStmt_Body {
			// Where something failed, that may be what installs the one before.
			if cond, ok := ast.Unparen(c.Parent().Node().(*ast.IfStmt).Cond).(*ast.BinaryExpr); ok && cond.Op == token.NEQ && r.isError(cond.X) {
				return false, false
			}
		}
		if c.ParentEdgeKind() != edge.BlockStmt_List {
			continue
		}
		for before, ok := c.PrevSibling(); ok; before, ok = before.PrevSibling() {
			install, fetch := r.straight(before)
			fetched = fetched || fetch
			if install {
				return fetched, true
			}
		}
	}
	return false, false
}

// straight reports whether the statement at c installs a provider, itself or by a function of which
// that is known, and whether it fetches a tracer. It does not look into blocks, which may not run.
func (s *sites) straight(c inspector.Cursor) (install, fetch bool) {
	c.Inspect([]ast.Node{(*ast.BlockStmt)(nil), (*ast.DeferStmt)(nil), (*ast.GoStmt)(nil), (*ast.FuncLit)(nil), (*ast.CallExpr)(nil), (*ast.SelectStmt)(nil), (*ast.CaseClause)(nil)}, func(c inspector.Cursor) bool {
		call, ok := c.Node().(*ast.CallExpr)
		if !ok {
			return false
		}
		fn := s.callee(call)
		if fn == nil {
			return true
		}
		switch name := fn.FullName(); {
		case name == funcInstall:
			install = install || s.realProvider(call)
		case name == funcGlobalTracer:
			fetch = true
		default:
			install = install || s.pass.ImportObjectFact(fn, new(installFact))
		}
		return true
	})
	return install, fetch
}

// isError reports whether e is of a type that is an error.
func (s *sites) isError(e ast.Expr) bool {
	t := s.info.TypeOf(e)
	return t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// installer returns a fact if the function at c always installs a provider.
func (s *sites) installer(c inspector.Cursor) *installFact {
	for _, stmt := range body(c).List {
		at, _ := c.FindNode(stmt)
		if install, _ := s.straight(at); install {
			return new(installFact)
		}
		for ret := range at.Preorder((*ast.ReturnStmt)(nil)) {
			// It may leave before, unless with an error.
			results := ret.Node().(*ast.ReturnStmt).Results
			if len(results) == 0 || s.info.Types[results[len(results)-1]].IsNil() || !s.isError(results[len(results)-1]) {
				return nil
			}
		}
	}
	return nil
}
