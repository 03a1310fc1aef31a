package gocmd

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
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

// Declares reports whether the package declares all of the names, by a look at
// its syntax.
func (p *Package) Declares(names map[string]bool) bool {
	missing := maps.Clone(names)
	for _, name := range p.GoFiles {
		file, _ := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		for name := range gocode.Declared(file) {
			delete(missing, name)
		}
	}
	return len(missing) == 0
}
