package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
)

// graph is a set of packages by import path, without their types.
type graph struct {
	key      stamp
	nodes    map[string]*node
	variants *variants // nil for the standard library's
}

// node is a package as the go command describes it.
type node struct {
	path, name, dir string
	module          string // path; empty for std
	pattern         string // what makes the go command load it
	files           []string
	imports         []string
	own             bool // part of the workspace
	std             bool
	local           bool // its files may change: neither std nor a downloaded module
	trouble         []packages.Error
}

const graphMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule

// newGraph makes nodes of what was loaded and all that it imports.
func newGraph(key stamp, roots []*packages.Package) *graph {
	g := &graph{key: key, nodes: map[string]*node{}}
	packages.Visit(roots, nil, func(p *packages.Package) {
		if exists(p) {
			g.nodes[p.PkgPath] = newNode(p)
		}
	})
	return g
}

// exists tells a package from the placeholder that the go command gives for an
// import that leads nowhere.
func exists(p *packages.Package) bool { return p.Name != "" || len(p.GoFiles) > 0 }

func newNode(p *packages.Package) *node {
	n := &node{path: p.PkgPath, name: p.Name, dir: p.Dir, pattern: p.PkgPath, files: p.GoFiles, trouble: p.Errors}
	if m := p.Module; m != nil {
		n.module = m.Path
		n.local = m.Main || m.Replace != nil && m.Replace.Version == ""
	}
	n.std = p.Module == nil
	for _, imported := range p.Imports {
		n.imports = append(n.imports, imported.PkgPath)
	}
	slices.Sort(n.imports)
	return n
}

// sorted are the nodes that keep says yes to, by path.
func (g *graph) sorted(keep func(*node) bool) []*node {
	var out []*node
	for _, n := range g.nodes {
		if keep(n) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	return out
}

var errNoGo = errors.New("the Go toolchain is needed: `go` was not found on the plugin's PATH; " +
	"install Go or name PATH in the plugin's environment")

// run asks the go command for packages, without their tests.
func (w *workspace) run(ctx context.Context, mode packages.LoadMode, patterns ...string) ([]*packages.Package, error) {
	return w.ask(ctx, packages.Config{Mode: mode}, patterns)
}

// ask completes a question to the go command and puts it. Every use of the
// command goes through here.
func (w *workspace) ask(ctx context.Context, question packages.Config, patterns []string) ([]*packages.Package, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errNoGo
	}
	queries := make([]string, len(patterns))
	for i, p := range patterns {
		// The prefix keeps the loader from reading a query such as file=X into
		// a pattern; the go command gets it behind "--", never as a flag.
		queries[i] = "pattern=" + p
	}
	question.Context, question.Dir, question.Env, question.ParseFile = ctx, w.root, os.Environ(), parseFile
	pkgs, err := packages.Load(&question, queries...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the go command failed: %s", w.scrub(err.Error()))
	}
	return pkgs, nil
}

// loadModules is the graph of the workspace's packages and their imports.
func (w *workspace) loadModules(ctx context.Context, key stamp, home string) (*graph, error) {
	question := packages.Config{Mode: graphMode | variantMode, Tests: true}
	return w.loadGraph(ctx, &w.modules, key, question, w.patterns(home))
}

// loadStd is the graph of the standard library.
func (w *workspace) loadStd(ctx context.Context, key stamp) (*graph, error) {
	return w.loadGraph(ctx, &w.std, key, packages.Config{Mode: graphMode}, []string{"std"})
}

// slot holds the graph that was loaded last.
type slot interface {
	Load() *graph
	Store(*graph)
}

func (w *workspace) loadGraph(ctx context.Context, s slot, key stamp, question packages.Config, patterns []string) (*graph, error) {
	if g := s.Load(); g != nil && g.key == key {
		return g, nil
	}
	flight := fmt.Sprintf("%x %s", key, strings.Join(patterns, " "))
	return w.graphs.do(ctx, flight, func(ctx context.Context) (*graph, error) {
		found, err := w.ask(ctx, question, patterns)
		if err != nil {
			return nil, err
		}
		roots := withoutTests(found)
		g := newGraph(key, roots)
		for _, p := range roots {
			if n := g.nodes[p.PkgPath]; n != nil {
				n.own = !n.std
			}
		}
		if question.Tests {
			g.variants = newVariants(key, found)
		}
		s.Store(g)
		return g, nil
	})
}

// home is the nearest directory, from the root upwards, that has a go.mod or
// go.work file; empty: there is none.
func (w *workspace) home() string {
	for dir := w.root; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"go.work", "go.mod"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// patterns match the workspace's packages. In a go.work workspace "./..." does
// not reach modules below a root that is no module itself, so each is named.
func (w *workspace) patterns(home string) []string {
	everything := []string{"./..."}
	work := filepath.Join(home, "go.work")
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
			dir = filepath.Join(home, dir)
		}
		if rel, ok := w.relative(dir); ok {
			out = append(out, strings.TrimSuffix("./"+rel, "/.")+"/...")
		}
	}
	if len(out) == 0 {
		return everything
	}
	return out
}
