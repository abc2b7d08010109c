// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// indent returns the space before the statement n on its line.
func (r *reporter) indent(n ast.Node) string {
	file := r.pass.Fset.File(n.Pos())
	content, err := r.pass.ReadFile(file.Name())
	if err != nil {
		return ""
	}
	line := file.Offset(file.LineStart(file.Line(n.Pos())))
	text := string(content[line:file.Offset(n.Pos())])
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

// file returns the file that has n.
func (s *sites) file(n ast.Node) *ast.File {
	for _, f := range s.pass.Files {
		if f.FileStart <= n.Pos() && n.Pos() < f.FileEnd {
			return f
		}
	}
	return nil
}

// qualifier returns what stands before a name of the package in the file that has n, and the edits
// that import it if needed.
func (r *reporter) qualifier(n ast.Node, pkg string) (string, []analysis.TextEdit) {
	file := r.file(n)
	for _, spec := range file.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == pkg {
			switch {
			case spec.Name == nil:
				return path.Base(pkg) + ".", nil
			case spec.Name.Name == ".":
				return "", nil
			case spec.Name.Name != "_":
				return spec.Name.Name + ".", nil
			}
		}
	}
	at, text := file.Name.End(), "\n\nimport "+strconv.Quote(pkg)
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			if d.Lparen.IsValid() {
				last := d.Specs[len(d.Specs)-1]
				at, text = last.End(), "\n\t"+strconv.Quote(pkg)
			} else {
				at, text = d.End(), "\nimport "+strconv.Quote(pkg)
			}
		}
	}
	return path.Base(pkg) + ".", []analysis.TextEdit{{Pos: at, End: at, NewText: []byte(text)}}
}

// hidden reports whether the name of a package means something else at n.
func (r *reporter) hidden(name string, n ast.Node) bool {
	scope := r.pass.Pkg.Scope().Innermost(n.Pos())
	if scope == nil {
		return true
	}
	_, obj := scope.LookupParent(name, n.Pos())
	_, isPackage := obj.(*types.PkgName)
	return obj != nil && !isPackage
}

// beginsLine reports whether the first statement of the block is not on the line of its brace.
func (r *reporter) beginsLine(block *ast.BlockStmt) bool {
	file := r.pass.Fset.File(block.Pos())
	return len(block.List) > 0 && file.Line(block.Lbrace) < file.Line(block.List[0].Pos())
}

// removeLine returns the edit that removes the statement n, and its line if there is nothing else on it.
func (r *reporter) removeLine(n ast.Node) analysis.TextEdit {
	file := r.pass.Fset.File(n.Pos())
	content, err := r.pass.ReadFile(file.Name())
	edit := analysis.TextEdit{Pos: n.Pos(), End: n.End()}
	if err != nil {
		return edit
	}
	first := file.LineStart(file.Line(n.Pos()))
	if last := file.Line(n.End()); last < file.LineCount() {
		next := file.LineStart(last + 1)
		if strings.TrimSpace(string(content[file.Offset(first):file.Offset(n.Pos())])+string(content[file.Offset(n.End()):file.Offset(next)])) == "" {
			edit.Pos, edit.End = first, next
		}
	}
	return edit
}
