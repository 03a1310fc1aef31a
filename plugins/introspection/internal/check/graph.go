package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/introspection/internal/singleflight"
	"github.com/toolhost/toolhost/plugins/introspection/internal/source"
)

// Graph is a set of packages by import path, without their types.
type Graph struct {
	Nodes map[string]*Node

	key      source.Fingerprint // of what it was made of
	variants variants           // none for the standard library's graph
}

// Node is a package as the go command describes it.
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

	pattern string // for the go command
}

const graphMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule

// newGraph returns the graph of packages and all that they import.
func newGraph(key source.Fingerprint, roots ...*packages.Package) *Graph {
	g := &Graph{key: key, Nodes: map[string]*Node{}}
	packages.Visit(roots, nil, func(p *packages.Package) {
		if exists(p) {
			g.Nodes[p.PkgPath] = newNode(p)
		}
	})
	return g
}

// exists distinguishes a package from the placeholder that the go command returns
// for an import path without a package.
func exists(p *packages.Package) bool { return p.Name != "" || len(p.GoFiles) > 0 }

func newNode(p *packages.Package) *Node {
	n := &Node{
		Path: p.PkgPath, Name: p.Name, Dir: p.Dir, Files: p.GoFiles, Errors: p.Errors,
		Std: p.Module == nil, Local: isLocal(p.Module), pattern: p.PkgPath,
	}
	if p.Module != nil {
		n.Module = p.Module.Path
	}
	for _, imported := range p.Imports {
		n.Imports = append(n.Imports, imported.PkgPath)
	}
	slices.Sort(n.Imports)
	return n
}

// isLocal reports whether a module's files may change: it is the workspace's, or
// replaced by a directory.
func isLocal(m *packages.Module) bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
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

// IsInternal reports whether only packages near it can import the package.
func IsInternal(path string) bool {
	parts := strings.Split(path, "/")
	return slices.Contains(parts, "internal") || parts[0] == "vendor"
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

// graphs holds the graphs that were loaded last, and the packages that are in none.
// It is safe for concurrent use.
type graphs struct {
	last, std atomic.Pointer[Graph]
	loading   singleflight.Group[*Graph]
	unlisted  unlisted
}

// workspace returns the graph of the workspace's packages and their imports.
func (gs *graphs) workspace(
	ctx context.Context, g goCommand, key source.Fingerprint, moduleDir string,
) (*Graph, error) {
	config := packages.Config{Mode: graphMode | variantMode, Tests: true}
	return gs.load(ctx, g, &gs.last, key, config, patterns(g.root, moduleDir))
}

// standard returns the graph of the standard library.
func (gs *graphs) standard(ctx context.Context, g goCommand, key source.Fingerprint) (*Graph, error) {
	return gs.load(ctx, g, &gs.std, key, packages.Config{Mode: graphMode}, []string{"std"})
}

func (gs *graphs) load(
	ctx context.Context, command goCommand, last *atomic.Pointer[Graph], key source.Fingerprint,
	config packages.Config, patterns []string,
) (*Graph, error) {
	if g := last.Load(); g != nil && g.key == key {
		return g, nil
	}
	flight := fmt.Sprintf("%x %s", key, strings.Join(patterns, " "))
	return gs.loading.Do(ctx, flight, func(ctx context.Context) (*Graph, error) {
		found, err := command.loadConfig(ctx, config, patterns)
		if err != nil {
			return nil, err
		}
		roots := withoutTests(found)
		g := newGraph(key, roots...)
		for _, p := range roots {
			if n := g.Nodes[p.PkgPath]; n != nil {
				n.Own = !n.Std
			}
		}
		if config.Tests {
			g.variants = newVariants(found)
		}
		last.Store(g)
		return g, nil
	})
}

// patterns match the workspace's packages. In a go.work workspace, "./..." does not
// match modules below a root that is not a module itself, so each is named.
func patterns(root source.Root, moduleDir string) []string {
	everything := []string{"./..."}
	work := filepath.Join(moduleDir, "go.work")
	content, err := os.ReadFile(work)
	if err != nil || os.Getenv("GOWORK") == "off" {
		return everything
	}
	parsed, err := modfile.ParseWork(work, content, nil)
	if err != nil {
		return everything
	}
	var out []string
	for _, use := range parsed.Use {
		dir := use.Path
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(moduleDir, dir)
		}
		if rel, ok := root.Relative(dir); ok {
			out = append(out, strings.TrimSuffix("./"+rel, "/.")+"/...")
		}
	}
	if len(out) == 0 {
		return everything
	}
	return out
}
