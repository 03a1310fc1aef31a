package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Tests are the test files of a package that belong to the package itself.
type Tests struct {
	Files   map[string]string // name to path
	Names   map[string]bool   // what they declare, methods and imports too
	Imports map[string]bool   // paths
}

// FindTests reads the test files of a package. What cannot be parsed is left out.
func FindTests(g *gocmd.Graph, path string) Tests {
	out := Tests{Files: map[string]string{}, Names: map[string]bool{}, Imports: map[string]bool{}}
	p := g.Packages[path]
	if p == nil {
		return out
	}
	for _, name := range p.TestGoFiles {
		file := filepath.Join(p.Dir, name)
		f, _ := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if f == nil {
			continue
		}
		out.Files[name] = file
		for declared := range gocode.Declared(f) {
			out.Names[declared[strings.LastIndexByte(declared, '.')+1:]] = true
		}
		for _, spec := range f.Imports {
			out.addImport(spec)
		}
	}
	return out
}

func (t Tests) addImport(spec *ast.ImportSpec) {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil || path == "C" {
		return
	}
	t.Imports[path] = true
	if spec.Name != nil {
		t.Names[spec.Name.Name] = true
		return
	}
	for _, part := range strings.Split(path, "/") { // the last, or the one before a version
		t.Names[part] = true
	}
}
