package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// doc returns the first paragraph of the comment of a type, or of one of its fields.
func (g *generator) doc(t *testing.T, of reflect.Type, field string) string {
	if g.read == nil {
		g.read = map[string]bool{}
	}
	if pkg := of.PkgPath(); !g.read[pkg] {
		g.read[pkg] = true
		dir := filepath.Join("..", "..", "..", "..", strings.TrimPrefix(pkg, "github.com/toolhost/toolhost"))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			f := require.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments))(t)
			ast.Inspect(f, func(n ast.Node) bool { return g.note(pkg, n) })
		}
	}
	return g.docs[strings.TrimSuffix(of.PkgPath()+"."+of.Name()+"."+field, ".")]
}

func (g *generator) note(pkg string, n ast.Node) bool {
	d, ok := n.(*ast.GenDecl)
	if !ok {
		return true
	}
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		g.docs[pkg+"."+s.Name.Name] = told(s.Name.Name, d.Doc)
		if of, ok := s.Type.(*ast.StructType); ok {
			for _, f := range of.Fields.List {
				for _, name := range f.Names {
					g.docs[pkg+"."+s.Name.Name+"."+name.Name] = told(name.Name, f.Doc)
				}
			}
		}
	}
	return false
}

var link = regexp.MustCompile(`\[([A-Z]\w*)\]`)

// told returns a comment as the reference has it: without the name of what it is of.
func told(name string, doc *ast.CommentGroup) string {
	first, _, _ := strings.Cut(doc.Text(), "\n\n")
	first = strings.Join(strings.Fields(first), " ")
	for _, verb := range []string{" is ", " are ", " says ", " "} {
		if rest, ok := strings.CutPrefix(first, name+verb); ok && rest != "" {
			first = strings.ToUpper(rest[:1]) + rest[1:]
			break
		}
	}
	return link.ReplaceAllStringFunc(first, func(word string) string { return strings.ToLower(strings.Trim(word, "[]")) })
}
