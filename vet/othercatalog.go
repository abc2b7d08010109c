// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// OtherCatalog reports bits of one catalog that are used with another's gate, gates that are asked for
// no bit, and copies of a gate that go vet does not see.
var OtherCatalog = rule("othercatalog", "check that bits, gates and catalogs belong together", otherCatalog)

func otherCatalog(r *reporter) {
	for c := range r.root.Preorder((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil), (*ast.BinaryExpr)(nil), (*ast.SendStmt)(nil)) {
		switch n := c.Node().(type) {
		case *ast.CallExpr:
			r.bitsOfCall(n)
			r.copyOfGate(n)
		case *ast.CompositeLit:
			if isNamed(r.info.TypeOf(n), gatePackage, "Rule") {
				if gate, mask := field(n, "Gate"), field(n, "Group"); gate != nil && mask != nil {
					r.bitsOfGate(gate, mask)
				}
			}
		case *ast.BinaryExpr:
			if _, inner := c.Parent().Node().(*ast.BinaryExpr); !inner && (n.Op == token.OR || n.Op == token.AND || n.Op == token.AND_NOT) {
				r.mixed(n)
			}
		case *ast.SendStmt:
			if hasGate(r.info.TypeOf(n.Value), 0) {
				r.report(n.Value, nil, "", "this copies a spangate.Gate: sites that read the copy do not follow the gate; send a pointer")
			}
		}
	}
}

func (r *reporter) bitsOfCall(call *ast.CallExpr) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	name := r.calls(call)
	if !ok || len(call.Args) != 1 {
		return
	}
	if method, ok := strings.CutPrefix(name, "(*"+engine+".Gate)."); ok && slices.Contains([]string{"On", "Enable", "Disable", "Store", "Swap"}, method) {
		if n, ok := r.constant(call.Args[0]); ok && n == 0 && method == "On" && !r.inTest(call) && !r.named(call.Args[0]) {
			r.report(call, nil, "", "On(0) is always false: the empty mask has no group; name the site's group")
		}
		r.bitsOfGate(sel.X, call.Args[0])
	}
	switch name {
	case "(*" + engine + ".Catalog).Format", "(*" + engine + ".Catalog).Names", "(*" + engine + ".Catalog).Select":
		if c, ok := r.catalog(sel.X); ok && c.Name != "" {
			r.bitsOf(c.Name, call.Args[0])
		}
	}
}

// named reports whether e has a constant that is declared: its value may be another with other build tags.
func (r *reporter) named(e ast.Expr) bool { return len(r.constants(e)) > 0 }

// bitsOfGate reports a constant in mask that is of another catalog than the one that gate is registered
// with.
func (r *reporter) bitsOfGate(gate, mask ast.Expr) {
	name := globalName(r.object(gate))
	var catalogs []string
	for _, g := range r.known.Gates {
		if g.Gate == name {
			catalogs = append(catalogs, g.Catalog)
		}
	}
	if name != "" && len(catalogs) == 1 {
		r.bitsOf(catalogs[0], mask)
	}
}

// bitsOf reports a constant in mask that the catalog does not have, and another has.
func (r *reporter) bitsOf(name string, mask ast.Expr) {
	i := slices.IndexFunc(r.all(), func(c catalog) bool { return c.Name == name })
	if i < 0 {
		return
	}
	c := r.all()[i]
	for _, k := range r.constants(mask) {
		owners := r.ownersOf(k)
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(o string) bool { return o == c.Name || slices.Contains(c.Bases, o) || r.extends(o, c.Name) }) {
			r.report(mask, nil, "", "%s is a bit of %s, and this gate or catalog is of %s, where the bit means another group or none", k.Name(), short(owners[0]), short(c.Name))
			return
		}
	}
}

func (s *sites) ownersOf(k *types.Const) []string {
	value, _ := constant.Uint64Val(k.Val())
	return s.owners(globalName(k), value)
}

// extends reports whether the catalog called name has all groups of base.
func (s *sites) extends(name, base string) bool {
	for _, c := range s.all() {
		if c.Name == name {
			return slices.Contains(c.Bases, base)
		}
	}
	return false
}

// mixed reports a mask of constants of two catalogs.
func (r *reporter) mixed(e *ast.BinaryExpr) {
	if !isNamed(r.info.TypeOf(e), engine, "Mask") {
		return
	}
	var first *types.Const
	for _, k := range r.constants(e) {
		owners := r.ownersOf(k)
		if len(owners) == 0 {
			continue
		}
		if first == nil {
			first = k
			continue
		}
		others := r.ownersOf(first)
		related := slices.ContainsFunc(owners, func(o string) bool {
			return slices.ContainsFunc(others, func(p string) bool { return o == p || r.extends(o, p) || r.extends(p, o) })
		})
		if !related {
			r.report(e, nil, "", "%s is a bit of %s and %s one of %s: a mask has the bits of one catalog", first.Name(), short(others[0]), k.Name(), short(owners[0]))
			return
		}
	}
}

func short(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// copyOfGate reports calls that copy the elements of a slice of gates.
func (r *reporter) copyOfGate(call *ast.CallExpr) {
	if len(call.Args) == 0 {
		return
	}
	name := r.calls(call)
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && r.info.Types[call.Fun].IsBuiltin() && (id.Name == "append" || id.Name == "copy") {
		name = id.Name
	}
	switch name {
	case "append", "copy", "slices.Clone", "slices.Concat", "slices.Grow", "slices.Insert", "slices.Delete", "slices.Reverse":
		if list, ok := r.info.TypeOf(call.Args[0]).Underlying().(*types.Slice); ok && hasGate(list.Elem(), 0) {
			r.report(call, nil, "", "%s copies each spangate.Gate of the slice: sites that read the old one do not follow the new; keep pointers", name)
		}
	}
}

// hasGate reports whether a value of type t holds a Gate.
func hasGate(t types.Type, depth int) bool {
	if t == nil || depth > 8 {
		return false
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == engine && n.Obj().Name() == "Gate" {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if hasGate(f.Type(), depth+1) {
				return true
			}
		}
	case *types.Array:
		return hasGate(u.Elem(), depth+1)
	}
	return false
}
