// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
)

// DecidedTwice reports a gate that is asked again for a span that an earlier answer started.
var DecidedTwice = rule("decidedtwice", "check that the gate is asked once for each span", decidedTwice)

func decidedTwice(r *reporter) {
	for _, st := range r.starts {
		first := r.guard(st.cur)
		span, ok := st.span.(*types.Var)
		if first == nil || !ok || span.IsField() || globalName(span) != "" {
			continue
		}
		reported := map[ast.Node]bool{}
		for _, use := range r.mentions[span] {
			again := r.guard(use)
			// The second answer must be one of the same question, which the first does not include, and
			// the block must not start another span.
			if again == nil || again.call == first.call || !r.sameQuestion(again.call, first.call) || reported[again.call] ||
				again.call.Pos() < st.assign.End() || use.ParentEdgeKind() == edge.AssignStmt_Lhs {
				continue
			}
			guarded := func(other *start) bool {
				d := r.guard(other.cur)
				return other.span == span && d != nil && d.call == again.call
			}
			if slices.ContainsFunc(r.starts, guarded) {
				continue
			}
			reported[again.call] = true
			var edits []analysis.TextEdit
			if test := r.spanTest(span); test != "" && again.variable == nil {
				edits = []analysis.TextEdit{{Pos: again.call.Pos(), End: again.call.End(), NewText: []byte(test)}}
				if c, ok := r.root.FindNode(again.call); ok && c.ParentEdgeKind() == edge.UnaryExpr_X {
					edits[0].NewText = []byte("(" + test + ")")
				}
			}
			r.report(again.call, edits, "Test the span", "%s is asked again for %s: a change in between loses or leaks the span; test the span instead", again.text(), span.Name())
		}
	}
}

// sameQuestion reports whether two calls have the same text, in which each name means the same.
func (r *reporter) sameQuestion(a, b *ast.CallExpr) bool {
	objects := func(call *ast.CallExpr) (list []types.Object) {
		ast.Inspect(call, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				list = append(list, r.info.ObjectOf(id))
			}
			return true
		})
		return list
	}
	return types.ExprString(a) == types.ExprString(b) && slices.Equal(objects(a), objects(b))
}

// spanTest returns an expression that is true if span was started, or "": `var span trace.Span` is nil
// until then.
func (r *reporter) spanTest(span *types.Var) string {
	for _, c := range r.mentions[span] {
		if c.ParentEdgeKind() == edge.ValueSpec_Names {
			if spec := c.Parent().Node().(*ast.ValueSpec); len(spec.Values) == 0 {
				return span.Name() + " != nil"
			}
		}
	}
	return ""
}
