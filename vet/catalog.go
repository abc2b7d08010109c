// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"slices"

	"github.com/spangate/spangate"
)

// readyMade are the catalogs of the engine, by the name of their variables.
var readyMade = map[string]*spangate.Catalog{engine + ".Gym": spangate.Gym, engine + ".Lens": spangate.Lens}

// maxBases limits how many catalogs extend each other in a row.
const maxBases = 16

// catalog returns the catalog that e is, and whether that is known: each group and preset is a
// constant.
func (s *sites) catalog(e ast.Expr) (catalog, bool) { return s.extended(e, maxBases) }

func (s *sites) extended(e ast.Expr, depth int) (catalog, bool) {
	name := globalName(s.object(e))
	if ready := readyMade[name]; ready != nil {
		return describe(name, ready), true
	}
	if i := slices.IndexFunc(s.known.Catalogs, func(c catalog) bool { return c.Name == name }); i >= 0 && name != "" {
		return s.known.Catalogs[i], true
	}
	call, ok := s.value(e).(*ast.CallExpr)
	if !ok {
		return catalog{}, false
	}
	c := catalog{Name: name}
	switch s.calls(call) {
	case engine + ".NewCatalog", engine + ".MustCatalog":
	case "(*" + engine + ".Catalog).Extend":
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || depth == 0 {
			return c, false
		}
		base, ok := s.extended(sel.X, depth-1)
		if !ok {
			return c, false
		}
		c.Groups, c.Bases = slices.Clone(base.Groups), append(slices.Clone(base.Bases), base.Name)
	default:
		return c, false
	}
	if len(call.Args) != 3 {
		return c, false
	}
	c.Namespace, ok = s.text(call.Args[0])
	ok = ok && s.rows(call.Args[1], "Bit", func(name string, bit uint64, e ast.Expr) {
		g := group{Name: name, Bit: bit}
		if list := s.constants(e); len(list) == 1 {
			g.Constant = globalName(list[0])
		}
		c.Groups = append(c.Groups, g)
	})
	ok = ok && s.rows(call.Args[2], "Mask", func(name string, mask uint64, _ ast.Expr) {
		c.Presets = append(c.Presets, preset{name, mask})
	})
	return c, ok
}

// rows calls add with the name, the number in the field, and the expression of it, of each element of
// a slice of groups or presets. It reports whether all are constants.
func (s *sites) rows(e ast.Expr, number string, add func(string, uint64, ast.Expr)) bool {
	e = s.value(e)
	if s.info.Types[e].IsNil() {
		return true
	}
	if slice, ok := e.(*ast.SliceExpr); ok && slice.Low == nil && slice.High == nil {
		e = s.value(slice.X)
	}
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, e := range list.Elts {
		row, ok := e.(*ast.CompositeLit)
		if !ok {
			return false
		}
		name, value := field(row, "Name"), field(row, number)
		if name == nil && len(row.Elts) >= 2 { // without keys
			name, value = row.Elts[0], row.Elts[1]
		}
		if value == nil && number == "Mask" && name != nil { // a preset may be empty
			if text, ok := s.text(name); ok {
				add(text, 0, nil)
				continue
			}
		}
		if name == nil || value == nil {
			return false
		}
		text, isText := s.text(name)
		n, isNumber := s.constant(value)
		if !isText || !isNumber {
			return false
		}
		add(text, n, value)
	}
	return true
}

// describe is the inverse of build.
func describe(name string, c *spangate.Catalog) catalog {
	d := catalog{Name: name, Namespace: c.Namespace()}
	for g := range c.Groups() {
		d.Groups = append(d.Groups, group{Name: g.Name, Bit: uint64(g.Bit)})
	}
	for p := range c.Presets() {
		if p.Name != spangate.NameAll {
			d.Presets = append(d.Presets, preset{p.Name, uint64(p.Mask)})
		}
	}
	return d
}

// build returns the catalog itself, so that names are looked up and specs are read as the program
// does it, or nil if the program can't make it either.
func (c catalog) build() *spangate.Catalog {
	var groups []spangate.Group
	for _, g := range c.Groups {
		groups = append(groups, spangate.Group{Name: g.Name, Bit: spangate.Mask(g.Bit)})
	}
	var presets []spangate.Preset
	for _, p := range c.Presets {
		presets = append(presets, spangate.Preset{Name: p.Name, Mask: spangate.Mask(p.Mask)})
	}
	built, err := spangate.NewCatalog(c.Namespace, groups, presets)
	if err != nil {
		return nil
	}
	return built
}

// all returns every catalog in reach.
func (s *sites) all() []catalog {
	return append(slices.Clone(s.known.Catalogs), describe(engine+".Gym", spangate.Gym), describe(engine+".Lens", spangate.Lens))
}
