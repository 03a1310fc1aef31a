package main

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
)

// declaration is a name that source code declares, with the comments that speak
// of it: its own, the remark behind it on the line, that of the group that it
// stands in.
type declaration struct {
	name     string
	comments []*ast.CommentGroup
}

// index has the unit's declarations by the place of their names. They are
// collected once, as looking each one up in the syntax would make listing a
// large package take a minute.
func (u *unit) index() map[token.Pos]declaration {
	u.once.Do(func() {
		u.declarations = map[token.Pos]declaration{}
		for _, f := range u.Syntax {
			ast.Inspect(f, u.declare)
		}
	})
	return u.declarations
}

// declare notes what one node declares, and says whether to look within.
func (u *unit) declare(n ast.Node) bool {
	note := func(id *ast.Ident, comments ...*ast.CommentGroup) {
		if id != nil {
			u.declarations[id.Pos()] = declaration{id.Name, comments}
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		note(n.Name, n.Doc)
		return false
	case *ast.Field:
		for _, id := range n.Names {
			note(id, n.Doc, n.Comment)
		}
		if len(n.Names) == 0 {
			note(typeName(n.Type), n.Doc, n.Comment)
		}
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				note(spec.Name, spec.Doc, spec.Comment, n.Doc)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					note(id, spec.Doc, spec.Comment, n.Doc)
				}
			}
		}
	}
	return true
}

// typeName is the name within a type expression such as *pkg.T[K]; nil: it has
// none.
func typeName(t ast.Expr) *ast.Ident {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.SelectorExpr:
			return x.Sel
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}

// comment is the documentation of what is declared at pos.
func (u *unit) comment(pos token.Pos) string { return first(u.index()[pos].comments...) }

// first is the text of the first comment that says something.
func first(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := g.Text(); text != "" {
			return text
		}
	}
	return ""
}

// packageComment is the documentation of the package.
func (u *unit) packageComment() string {
	for _, f := range u.Syntax {
		if text := f.Doc.Text(); text != "" {
			return text
		}
	}
	return ""
}

// at finds the name that another unit saw declared at a position in a file of
// this package. Columns and directories differ between source and export data,
// lines and names do not.
func (u *unit) at(p token.Position, name string) token.Pos {
	for pos, d := range u.index() {
		if d.name != name {
			continue
		}
		here := u.Fset.Position(pos)
		if here.Line == p.Line && filepath.Base(here.Filename) == filepath.Base(p.Filename) {
			return pos
		}
	}
	return token.NoPos
}

// place is where pos is, as an editor counts: //line directives do not count,
// except in files that the go command made (of cgo sources), where they lead to
// the file that a person wrote.
func (u *unit) place(pos token.Pos) token.Position {
	if !pos.IsValid() {
		return token.Position{}
	}
	p := u.Fset.PositionFor(pos, false)
	if slices.Contains(u.GoFiles, p.Filename) {
		return p
	}
	return u.Fset.Position(pos)
}
