// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/spangate/spangate"
)

// NoSite reports groups that no site is gated on.
var NoSite = rule("nosite", "check that each group of a catalog has a site in the program", noSite)

// noSite looks at each program as a whole, in its package main. A catalog that other packages can't
// name is checked in its own.
func noSite(r *reporter) {
	program := r.pass.Pkg.Name() == "main"
	if len(r.known.Computed) > 0 || strings.HasSuffix(r.pass.Pkg.Path(), ".test") {
		return
	}
	for _, c := range r.known.Catalogs {
		own := r.declaration(c)
		if !program && (own == nil || ast.IsExported(own.Name)) || !r.ofModule(c) {
			continue
		}
		at := analysis.Range(r.pass.Files[0].Name)
		if own != nil {
			at = own
		}
		for _, g := range c.Groups[r.inherited(c):] {
			if !program && (g.Constant == "" || ast.IsExported(g.Constant[strings.LastIndex(g.Constant, ".")+1:])) {
				continue
			}
			if slices.ContainsFunc(r.known.Gated, func(s gated) bool { return s.Mask&g.Bit != 0 && r.mayMean(s, c) }) {
				continue
			}
			presets := ""
			for _, p := range c.Presets {
				if p.Mask&g.Bit != 0 {
					presets += ", and preset " + p.Name + " has it"
				}
			}
			r.report(at, nil, "", "no site of this program is gated on group %q of catalog %s%s; add the site or remove the group", g.Name, c.Namespace, presets)
		}
	}
}

// declaration returns the name of the catalog's variable if it is one of this package.
func (r *reporter) declaration(c catalog) *ast.Ident {
	for id, obj := range r.info.Defs {
		if obj != nil && globalName(obj) == c.Name {
			return id
		}
	}
	return nil
}

// ofModule reports whether the catalog is part of the module that is checked: others are their
// authors' to check.
func (r *reporter) ofModule(c catalog) bool {
	path := c.Name[:strings.LastIndex(c.Name, ".")]
	return r.pass.Pkg.Path() == path || r.pass.Module != nil && (path == r.pass.Module.Path || strings.HasPrefix(path, r.pass.Module.Path+"/")) && path != engine
}

// inherited returns how many groups of c are those of the catalog that it extends.
func (r *reporter) inherited(c catalog) int {
	if len(c.Bases) == 0 {
		return 0
	}
	base := c.Bases[len(c.Bases)-1]
	for _, b := range r.all() {
		if b.Name == base {
			return len(b.Groups)
		}
	}
	return len(c.Groups)
}

// mayMean reports whether the bits of the site may be those of c: one of its constants is, or none is
// known to be another catalog's.
func (s *sites) mayMean(site gated, c catalog) bool {
	for name := range strings.FieldsSeq(site.Constants) {
		owners := s.owners(name, site.Mask)
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(o string) bool { return o == c.Name || slices.Contains(c.Bases, o) }) {
			return false
		}
	}
	return true
}

// owners returns the names of the catalogs whose group has the constant. Those of the ready-made catalogs
// are found by the value.
func (s *sites) owners(constant string, value uint64) (list []string) {
	for _, c := range s.known.Catalogs {
		if slices.ContainsFunc(c.Groups, func(g group) bool { return g.Constant == constant }) {
			list = append(list, c.Name)
		}
	}
	if strings.HasPrefix(constant, engine+".") {
		list = append(list, engine+".Gym")
		if spangate.Mask(value)&^spangate.Lens.All() == 0 {
			list = append(list, engine+".Lens")
		}
	}
	return list
}
