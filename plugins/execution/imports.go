package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// resolver finds the packages that a form's names mean where nothing is declared
// under them: what the form imports, what the session imported before, what the
// package's own files import, and the standard library, in this order.
type resolver struct {
	explicit map[string]string   // name to path
	session  map[string]string   // name to path
	files    map[string][]string // name to paths
	declared map[string]bool
	std      func() (map[string][]*listed, error)
	problems *problems
}

// imports are the packages that a piece of code uses.
func (r *resolver) imports(uses map[string]map[string]bool) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if r.declared[name] || types.Universe.Lookup(name) != nil {
			continue
		}
		path, err := r.path(name, uses[name])
		if err != nil {
			return nil, err
		}
		if path != "" {
			out[name] = path
		}
	}
	return out, nil
}

// path is the package that a name means; empty: none that is known.
func (r *resolver) path(name string, selected map[string]bool) (string, error) {
	for _, known := range []map[string]string{r.explicit, r.session} {
		if path := known[name]; path != "" {
			return path, nil
		}
	}
	if paths := r.files[name]; len(paths) == 1 {
		return paths[0], nil
	}
	std, err := r.std()
	if err != nil {
		return "", err
	}
	found := std[name]
	if len(found) > 1 {
		found = slices.DeleteFunc(slices.Clone(found), func(l *listed) bool { return !l.exports(selected) })
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].ImportPath, nil
	}
	var paths []string
	for _, l := range found {
		paths = append(paths, strconv.Quote(l.ImportPath))
	}
	r.problems.add(problem{Message: name + " is ambiguous: it can be " + strings.Join(paths, " or ") + "; import one of them in the form"})
	return "", nil
}

// exports reports whether a package declares all of the names, as far as can be
// seen without types.
func (l *listed) exports(names map[string]bool) bool {
	missing := maps.Clone(names)
	entries, _ := os.ReadDir(l.Dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, _ := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, e.Name()), nil, parser.SkipObjectResolution)
		if file == nil || file.Name.Name != l.Name {
			continue
		}
		for name := range topLevel(file) {
			delete(missing, name)
		}
	}
	return len(missing) == 0
}

// topLevel are the names that a file declares for its package.
func topLevel(file *ast.File) map[string]bool {
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

// stdlib is the standard library's importable packages, by name, listed once.
type stdlib struct {
	mu     sync.Mutex
	byName map[string][]*listed
}

func (s *stdlib) get(ctx context.Context, t toolchain) (map[string][]*listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName != nil {
		return s.byName, nil
	}
	g, err := list(ctx, t, "std")
	if err != nil {
		return nil, err
	}
	byName := map[string][]*listed{}
	for _, l := range g.order {
		parts := strings.Split(l.ImportPath, "/")
		if !slices.Contains(parts, "internal") && parts[0] != "vendor" {
			byName[l.Name] = append(byName[l.Name], l)
		}
	}
	s.byName = byName
	return byName, nil
}

// namesOf is what an import is called where it has no name of its own.
func (g *graph) nameOf(path string) string {
	if l := g.packages[path]; l != nil && l.Name != "" {
		return l.Name
	}
	return filepath.Base(path)
}

// fileImports are the packages that files import, by the names that they have
// there.
func (g *graph) fileImports(files []*ast.File) map[string][]string {
	out := map[string][]string{}
	for _, f := range files {
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || path == "C" {
				continue
			}
			name := g.nameOf(path)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name != "." && name != "_" && !slices.Contains(out[name], path) {
				out[name] = append(out[name], path)
			}
		}
	}
	return out
}
