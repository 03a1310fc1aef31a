package source

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Declaration is a name that a file declares: at package level, or as a method,
// field or interface method of the type Of.
type Declaration struct {
	Name, Of string
	Kind     string // func, method, type, var, const or field
	Position token.Position
	Synopsis string
}

// String returns Name, or Of.Name for a member.
func (d Declaration) String() string {
	if d.Of != "" {
		return d.Of + "." + d.Name
	}
	return d.Name
}

// Exported reports whether other packages can use the name.
func (d Declaration) Exported() bool {
	return token.IsExported(d.Name) && (d.Of == "" || token.IsExported(d.Of))
}

// InTest reports whether a test file declares the name.
func (d Declaration) InTest() bool { return strings.HasSuffix(d.Position.Filename, "_test.go") }

// readDeclarations returns what a file declares, as far as it can be parsed, and the first
// sentence of the package's documentation.
func readDeclarations(path string) (synopsis string, declarations []Declaration) {
	fset := token.NewFileSet()
	parsed, _ := ParseFile(fset, path, nil)
	if parsed == nil {
		return "", nil
	}
	r := reader{fset: fset}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			of, kind := gocode.Receiver(d), "func"
			if of != "" {
				kind = "method"
			}
			r.add(d.Name, of, kind, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				r.addSpec(d, spec)
			}
		}
	}
	return Synopsis(parsed.Doc.Text()), r.out
}

// reader collects the declarations of one file.
type reader struct {
	fset *token.FileSet
	out  []Declaration
}

func (r *reader) add(id *ast.Ident, of, kind string, comments ...*ast.CommentGroup) {
	if id.Name == "_" || id.Name == "init" && kind == "func" {
		return // nothing can refer to these
	}
	r.out = append(r.out, Declaration{
		Name: id.Name, Of: of, Kind: kind,
		Position: r.fset.PositionFor(id.Pos(), false), Synopsis: Synopsis(Comment(comments...)),
	})
}

func (r *reader) addSpec(d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			r.add(id, "", d.Tok.String(), spec.Doc, spec.Comment, d.Doc)
		}
	case *ast.TypeSpec:
		r.add(spec.Name, "", "type", spec.Doc, spec.Comment, d.Doc)
		switch t := spec.Type.(type) {
		case *ast.StructType:
			r.addMembers(spec.Name.Name, "field", t.Fields)
			r.addEmbedded(spec.Name.Name, t.Fields)
		case *ast.InterfaceType:
			r.addMembers(spec.Name.Name, "method", t.Methods)
		}
	}
}

func (r *reader) addMembers(of, kind string, list *ast.FieldList) {
	for _, f := range list.List {
		for _, id := range f.Names {
			r.add(id, of, kind, f.Doc, f.Comment)
		}
	}
}

// addEmbedded adds the fields that are named for the types that they embed.
func (r *reader) addEmbedded(of string, list *ast.FieldList) {
	for _, f := range list.List {
		if id := gocode.TypeName(f.Type); len(f.Names) == 0 && id != nil {
			r.add(id, of, "field", f.Doc, f.Comment)
		}
	}
}
