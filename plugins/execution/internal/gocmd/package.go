package gocmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Package is what go list says of a package.
type Package struct {
	ImportPath      string
	Name            string
	Dir             string
	Standard        bool
	DepOnly         bool
	Export          string
	ForTest         string // the package whose tests this is compiled for
	GoFiles         []string
	CompiledGoFiles []string
	TestGoFiles     []string
	XTestGoFiles    []string
	Imports         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
		Replace   *struct{ Version string }
	}
	Error      *PackageError
	DepsErrors []*PackageError
}

// PackageError is why a package cannot be loaded or compiled.
type PackageError struct {
	ImportStack []string
	Pos, Err    string
}

const packageFields = "ImportPath,Name,Dir,Standard,DepOnly,Export,ForTest,GoFiles,CompiledGoFiles," +
	"TestGoFiles,XTestGoFiles,Imports,ImportMap,Module,Error,DepsErrors"

// isLocal reports whether the package can change without a new version.
func (p *Package) isLocal() bool {
	return !p.Standard && (p.Module == nil || p.Module.Main || p.Module.Replace != nil && p.Module.Replace.Version == "")
}

// isInternal reports whether other modules cannot import the package.
func (p *Package) isInternal() bool {
	parts := strings.Split(p.ImportPath, "/")
	return slices.Contains(parts, "internal") || parts[0] == "vendor"
}

// Declares reports whether the package declares all of the names, by a look at
// its syntax.
func (p *Package) Declares(names map[string]bool) bool {
	missing := maps.Clone(names)
	entries, _ := os.ReadDir(p.Dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, _ := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, e.Name()), nil, parser.SkipObjectResolution)
		if file == nil || file.Name.Name != p.Name {
			continue
		}
		for name := range TopLevel(file) {
			delete(missing, name)
		}
	}
	return len(missing) == 0
}

// TopLevel returns the names that a file declares for its package.
func TopLevel(file *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				out[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					out[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						out[n.Name] = true
					}
				}
			}
		}
	}
	return out
}
