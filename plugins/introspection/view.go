package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"iter"
	"path/filepath"
	"slices"
)

// view is the workspace as one call finds it. It belongs to that call alone.
type view struct {
	*workspace
	tree    *tree
	modules stamp  // of the files that say which modules there are
	home    string // see [workspace.home]
	graph   *graph // empty where there is no module
}

var errNoModule = errors.New("the workspace has no go.mod, in it or above it, so only packages of the standard library " +
	"can be described; run `go mod init` there, or make the root of a Go module the workspace")

// view looks at what is on disk now.
func (w *workspace) view(ctx context.Context) (*view, error) {
	if w.root == "" {
		return nil, errNotOpen
	}
	v := &view{workspace: w, home: w.home(), tree: &tree{dirs: map[string][]file{}}, graph: &graph{}}
	if v.home == "" {
		return v, nil
	}
	var err error
	if v.tree, err = scan(ctx, w.root); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the workspace cannot be read: %s", w.scrub(err.Error()))
	}
	for dir := w.root; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		v.tree.above(dir)
	}
	sum := newStamper()
	sum.files(v.tree.modules)
	v.modules = sum.stamp()
	v.graph, err = w.loadModules(ctx, v.importsStamp(), v.home)
	return v, err
}

// importsStamp stands for all that decides about the import graph.
func (v *view) importsStamp() stamp {
	sum := newStamper()
	sum.Write(v.modules[:])
	for _, dir := range sortedKeys(v.tree.dirs) {
		for _, f := range v.tree.dirs[dir] {
			header := v.sources.header(f)
			sum.text(f.path)
			sum.Write(header[:])
		}
	}
	return sum.stamp()
}

// stamp stands for the files that a package's types are made of: its own and,
// as an edit there can change its method sets and sizes, those of the packages
// below it that are edited in place.
func (v *view) stamp(n *node) stamp {
	sum := newStamper()
	sum.Write(v.modules[:])
	seen := map[string]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if seen[n.path] {
			return
		}
		seen[n.path] = true
		sum.files(v.tree.in(n.dir))
		for _, path := range n.imports {
			if below := v.graph.nodes[path]; below != nil && below.local {
				visit(below)
			}
		}
	}
	visit(n)
	return sum.stamp()
}

// names are what a package declares, without loading it.
func (v *view) names(n *node) []declared { return slices.Collect(v.declared(n)) }

// declared goes through the names of a package.
func (v *view) declared(n *node) iter.Seq[declared] {
	return func(yield func(declared) bool) {
		for _, f := range v.files(n) {
			for _, d := range v.sources.names(f) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// files are a package's files as they are now. Those of packages that nobody
// edits are not looked at again.
func (v *view) files(n *node) []file {
	var out []file
	if !n.local {
		for _, path := range n.files {
			out = append(out, file{path: path})
		}
		return out
	}
	wanted := make(map[string]bool, len(n.files))
	for _, path := range n.files {
		wanted[path] = true
	}
	for _, f := range v.tree.in(n.dir) {
		if wanted[f.path] {
			out = append(out, f)
		}
	}
	return out
}

// declares reports whether a package has a name at package level.
func (v *view) declares(n *node, name string) bool {
	for d := range v.declared(n) {
		if d.of == "" && d.name == name {
			return true
		}
	}
	return false
}

// declaredAt is what is known, without loading the package, of a name whose
// line export data gave. Columns and directories differ between source and
// export data, lines and names do not.
func (v *view) declaredAt(n *node, p token.Position, name string) (declared, bool) {
	for d := range v.declared(n) {
		if d.name == name && d.at.Line == p.Line && filepath.Base(d.at.Filename) == filepath.Base(p.Filename) {
			return d, true
		}
	}
	return declared{}, false
}
