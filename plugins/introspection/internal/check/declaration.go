package check

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// declaration is a name that source code declares, with the comments on it: before
// it, after it on the line, and before the group that it is in.
type declaration struct {
	name     string
	comments []*ast.CommentGroup
}

// index returns the package's declarations by the positions of their names. They are
// collected once: to search the syntax for each name would make listing a large
// package take a minute.
func (p *Package) index() map[token.Pos]declaration {
	p.once.Do(func() {
		p.declarations = map[token.Pos]declaration{}
		for _, f := range p.Syntax {
			ast.Inspect(f, p.addDeclarations)
		}
	})
	return p.declarations
}

// addDeclarations adds what one node declares, and reports whether to visit the nodes
// within it.
func (p *Package) addDeclarations(n ast.Node) bool {
	add := func(id *ast.Ident, comments ...*ast.CommentGroup) {
		if id != nil {
			p.declarations[id.Pos()] = declaration{id.Name, comments}
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		add(n.Name, n.Doc)
		return false
	case *ast.Field:
		for _, id := range n.Names {
			add(id, n.Doc, n.Comment)
		}
		if len(n.Names) == 0 {
			add(gocode.TypeName(n.Type), n.Doc, n.Comment)
		}
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(spec.Name, spec.Doc, spec.Comment, n.Doc)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					add(id, spec.Doc, spec.Comment, n.Doc)
				}
			}
		}
	}
	return true
}

// Comment returns the documentation of what is declared at pos.
func (p *Package) Comment(pos token.Pos) string { return source.Comment(p.index()[pos].comments...) }

// PackageComment returns the documentation of the package.
func (p *Package) PackageComment() string {
	for _, f := range p.Syntax {
		if text := f.Doc.Text(); text != "" {
			return text
		}
	}
	return ""
}

// find returns where this package declares a name whose position comes from export
// data. See [Snapshot.DeclaredAt].
func (p *Package) find(at token.Position, name string) token.Pos {
	for pos, d := range p.index() {
		if d.name == name && sameLine(p.Fset.Position(pos), at) {
			return pos
		}
	}
	return token.NoPos
}

// Place returns a position as an editor counts: //line directives do not count,
// except in files that the go command generates from cgo sources, in which they name
// the original.
func (p *Package) Place(pos token.Pos) token.Position {
	if !pos.IsValid() {
		return token.Position{}
	}
	at := p.Fset.PositionFor(pos, false)
	if slices.Contains(p.Node.Files, at.Filename) {
		return at
	}
	return p.Fset.Position(pos)
}

// Locate returns the documentation and the position of an object that p declares or
// promotes. To find the documentation of a promoted member, it loads the package that
// declares it.
func (s *Snapshot) Locate(ctx context.Context, p *Package, obj types.Object) (comment, position string, err error) {
	home, pos, err := s.Home(ctx, p, obj)
	if err != nil {
		return "", "", err
	}
	if home == nil {
		return "", s.Root.Position(p.Fset.Position(obj.Pos()), obj.Pkg().Path()), nil
	}
	return strings.TrimSpace(home.Comment(pos)), s.Root.Position(home.Place(pos), home.Node.Path), nil
}

// Home returns the package that declares an object which p declares or promotes, and where
// that package declares it. The package is nil if it cannot be found.
func (s *Snapshot) Home(ctx context.Context, p *Package, obj types.Object) (*Package, token.Pos, error) {
	pos := obj.Pos()
	home := obj.Pkg()
	if home == nil || home.Path() == p.Node.Path || !pos.IsValid() {
		return p, pos, nil
	}
	n, err := s.declaring(ctx, home.Path(), p.Fset.Position(pos).Filename)
	if err != nil || n == nil {
		return nil, token.NoPos, err
	}
	declaring, err := s.Package(ctx, n)
	if err != nil {
		return nil, token.NoPos, err
	}
	return declaring, declaring.find(p.Fset.Position(pos), obj.Name()), nil
}

// declaring returns the package that has a file: the one of this import path, or the
// same with its tests.
func (s *Snapshot) declaring(ctx context.Context, path, file string) (*Node, error) {
	if strings.HasSuffix(file, "_test.go") {
		for _, n := range s.Graph.TestsOf(path) {
			if n.Path == path {
				return n, nil
			}
		}
	}
	return s.Find(ctx, path)
}

// Body returns the body of a function that the package declares, or nil.
func (p *Package) Body(fn *types.Func) *ast.BlockStmt {
	for _, f := range p.Syntax {
		if fn.Pos() < f.FileStart || fn.Pos() >= f.FileEnd {
			continue
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.Pos() == fn.Pos() {
				return d.Body
			}
		}
	}
	return nil
}
