package check

import (
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Graph is a set of packages without their types.
type Graph struct {
	Nodes map[string]*Node // by import path, without tests
	Tests []*Node          // of the workspace's packages with their test files, by import path; see [Node.TestOf]

	key source.Fingerprint // of what it was made of
	// variants has all packages by ID, with their tests.
	variants map[string]*Node
	sizes    types.Sizes
	modules  []Module // that the workspace's packages are in
	// indexed are the IDs of the packages whose uses of symbols are collected: of each
	// package of the workspace the variant with its test files, which has all other
	// files too. No file is in two of them.
	indexed []string
}

// Node is a package as the go command builds it for one purpose: to be imported, with
// its own test files, or again for the tests of a package that it imports. See `go help
// list` on test variants. The nodes of a graph's map are those to be imported.
type Node struct {
	Path, Name string
	Dir        string   // absolute
	Module     string   // path; empty for the standard library
	Files      []string // absolute
	Imports    []string // import paths, sorted
	Own        bool     // it is part of the workspace
	Std        bool
	Local      bool // its files may change: it is neither in the standard library nor in a downloaded module
	Errors     []packages.Error
	// LeftOut are the Go files of the directory that build constraints leave out, absolute.
	LeftOut []string
	// TestOf is the import path of the package that this one tests: its own path if it
	// is the package with its test files, that without _test if it is next to it, and
	// empty if it has no test files.
	TestOf string
	// TestOnly says that only tests import the package.
	TestOnly bool

	id        string                       // "path", or "path [path.test]"
	pattern   string                       // for the go command
	goVersion string                       // such as go1.26; empty: the newest
	imports   map[string]string            // import path to id
	missing   map[string]*packages.Package // imports without a package
	source    bool                         // it is type-checked from source; others come as export data
}

const graphMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedModule | packages.NeedForTest | packages.NeedTypesSizes

// newGraph returns the graph of packages and all that they import.
func newGraph(key source.Fingerprint, found []*packages.Package) *Graph {
	g := &Graph{key: key, Nodes: map[string]*Node{}, variants: map[string]*Node{}}
	packages.Visit(found, nil, func(p *packages.Package) {
		// Visit calls this for a package after all that it imports.
		if exists(p) {
			g.variants[p.ID] = g.newNode(p)
		}
	})
	plain := slices.DeleteFunc(slices.Clone(found), func(p *packages.Package) bool {
		return p.ID != p.PkgPath || p.ForTest != "" || isTestProgram(p)
	})
	packages.Visit(plain, nil, func(p *packages.Package) {
		if exists(p) {
			g.Nodes[p.PkgPath] = g.variants[p.ID]
		}
	})
	for _, p := range plain {
		if n := g.Nodes[p.PkgPath]; n != nil {
			n.Own = !n.Std
		}
		if m := p.Module; m != nil && !g.isModule(m.Dir) {
			g.modules = append(g.modules, Module{Path: m.Path, Dir: m.Dir, Go: "go" + m.GoVersion})
		}
	}
	g.addTests(found)
	best := map[string]*Node{}
	for _, p := range found {
		n := g.variants[p.ID]
		if n == nil || !n.source || isTestProgram(p) {
			continue
		}
		g.sizes = p.TypesSizes
		if known := best[n.Path]; known == nil || len(known.Files) < len(n.Files) {
			best[n.Path] = n
		}
	}
	for _, path := range source.SortedKeys(best) {
		g.indexed = append(g.indexed, best[path].id)
	}
	return g
}

// addTests adds the packages with test files, and what only these import.
func (g *Graph) addTests(found []*packages.Package) {
	for _, p := range found {
		n := g.variants[p.ID]
		if n == nil || p.ForTest == "" || isTestProgram(p) || p.PkgPath != p.ForTest && p.PkgPath != p.ForTest+"_test" {
			continue
		}
		n.Own, n.TestOf = !n.Std, p.ForTest
		g.Tests = append(g.Tests, n)
	}
	slices.SortFunc(g.Tests, func(a, b *Node) int { return strings.Compare(a.Path, b.Path) })
	for id, n := range g.variants {
		if id == n.Path && g.Nodes[id] == nil && !strings.HasSuffix(id, ".test") {
			n.TestOnly = true
			g.Nodes[id] = n
		}
	}
}

// TestsOf returns the packages that test a package of the workspace: first the one
// that has its files too.
func (g *Graph) TestsOf(path string) []*Node {
	var out []*Node
	for _, n := range g.Tests {
		if n.TestOf == path {
			out = append(out, n)
		}
	}
	return out
}

// exists distinguishes a package from the placeholder that the go command returns
// for an import path without a package.
func exists(p *packages.Package) bool { return p.Name != "" || len(p.GoFiles) > 0 }

// isTestProgram reports whether a package is the program that the go command
// generates to run tests.
func isTestProgram(p *packages.Package) bool {
	return p.Name == "main" && strings.HasSuffix(p.ID, ".test")
}

func (g *Graph) newNode(p *packages.Package) *Node {
	n := &Node{
		Path: p.PkgPath, Name: p.Name, Dir: p.Dir, Files: p.GoFiles, Errors: p.Errors, Std: p.Module == nil,
		LeftOut: goFiles(p.IgnoredFiles),
		id:      p.ID, pattern: p.PkgPath, imports: map[string]string{}, missing: map[string]*packages.Package{},
	}
	if p.ForTest != "" {
		n.pattern = p.ForTest
	}
	if m := p.Module; m != nil {
		n.Module = m.Path
		n.Local = m.Main || m.Replace != nil && m.Replace.Version == ""
		if m.GoVersion != "" {
			n.goVersion = "go" + m.GoVersion
		}
	}
	n.source = n.Local
	for path, imported := range p.Imports {
		n.Imports = append(n.Imports, imported.PkgPath)
		if !exists(imported) {
			n.missing[path] = imported
			continue
		}
		n.imports[path] = imported.ID
		// A package that imports source cannot come as export data, which would have
		// the types of that source a second time.
		n.source = n.source || g.variants[imported.ID] != nil && g.variants[imported.ID].source
	}
	slices.Sort(n.Imports)
	return n
}

func goFiles(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !isGoFile(path) })
}

// isGoFile reports whether the go command would build a file if nothing left it out.
func isGoFile(path string) bool {
	name := filepath.Base(path)
	return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// with returns the graph with a local package that is not in it.
func (g *Graph) with(n *Node) *Graph {
	out := *g
	out.variants = maps.Clone(g.variants)
	out.variants[n.id] = n
	for _, id := range n.imports {
		if out.variants[id] == nil {
			out.variants[id] = &Node{Path: id, id: id}
		}
	}
	return &out
}

// imported returns the packages that come as export data, by path: those that source
// imports, and those that these are built with, for the types that satisfy an interface.
func (g *Graph) imported() []string {
	found := map[string]bool{}
	for _, n := range g.Nodes {
		if n.isPublic() {
			found[n.Path] = true
		}
	}
	for _, n := range g.variants {
		if !n.source {
			continue
		}
		for _, id := range n.imports {
			if imported := g.variants[id]; imported != nil && !imported.source {
				found[imported.Path] = true
			}
		}
	}
	return source.SortedKeys(found)
}

// isPublic reports whether a package comes as export data and can be imported by any other.
func (n *Node) isPublic() bool {
	return !n.source && n.Name != "main" && !gocode.IsInternal(n.Path) && len(n.Files) > 0
}

// sourceDirs returns the directories of what is type-checked from source, sorted.
func (g *Graph) sourceDirs() []string {
	found := map[string]bool{}
	for _, n := range g.variants {
		if n.source {
			found[n.Dir] = true
		}
	}
	return source.SortedKeys(found)
}

// Select returns the nodes for which keep returns true, sorted by path.
func (g *Graph) Select(keep func(*Node) bool) []*Node {
	var out []*Node
	for _, n := range g.Nodes {
		if keep(n) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *Node) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Named reports whether a name is the package's name or the end of its path.
func (n *Node) Named(name string) bool {
	return n.Name == name || n.Path == name || strings.HasSuffix(n.Path, "/"+name)
}

// Distance returns how far away a package is: 0 in the workspace, 1 in a module that
// it depends on, 2 in the standard library.
func (n *Node) Distance() int {
	switch {
	case n.Own:
		return 0
	case !n.Std:
		return 1
	}
	return 2
}
