package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/tools/go/packages"
)

// universe has what all packages of the workspace declare, type-checked
// together so that types of different packages can be compared, which those of
// units cannot. Function bodies are left out: types declared there are nobody
// else's business, and without them checking everything anew after an edit takes
// less time than finding out what need not be.
type universe struct {
	stamp   stamp
	fset    *token.FileSet
	local   map[string]*types.Package // from source
	outside *outside                  // what those import, and what was asked for
	broken  []string                  // what is wrong with declarations, at most [maxErrors]
}

// outside are packages that nobody edits, from export data.
type outside struct {
	key  stamp // of the import graph
	fset *token.FileSet
	pkgs map[string]*types.Package
}

// universes holds the universe that was made last.
type universes struct {
	last    atomic.Pointer[universe]
	outside atomic.Pointer[outside]
	flights flights[*universe]
}

// universe is the workspace's, together with the package of a node wherever
// that is from.
func (v *view) universe(ctx context.Context, n *node) (*universe, error) {
	nodes := v.graph.sorted(func(n *node) bool { return n.local })
	if n != nil && n.local && v.graph.nodes[n.path] == nil {
		nodes = append(nodes, n)
	}
	wanted := v.importsOf(nodes)
	if n != nil && !n.local {
		wanted[n.path] = true
	}
	now := v.universeStamp(nodes)
	if u := v.universes.last.Load(); u != nil && u.stamp == now && u.outside.has(wanted) {
		return u, nil
	}
	flight := fmt.Sprintf("%x", now)
	if n != nil {
		flight += " " + n.path
	}
	return v.universes.flights.do(ctx, flight, func(ctx context.Context) (*universe, error) {
		out, err := v.outside(ctx, wanted)
		if err != nil {
			return nil, err
		}
		u := &universe{stamp: now, fset: token.NewFileSet(), outside: out, local: map[string]*types.Package{}}
		v.check(u, nodes)
		v.universes.last.Store(u)
		return u, nil
	})
}

func (v *view) universeStamp(nodes []*node) stamp {
	sum := newStamper()
	sum.Write(v.graph.key[:])
	for _, n := range nodes {
		sum.text(n.path)
		sum.files(v.files(n))
	}
	return sum.stamp()
}

// importsOf are the paths of what packages import, except for each other.
func (v *view) importsOf(nodes []*node) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		for _, path := range n.imports {
			if other := v.graph.nodes[path]; (other == nil || !other.local) && path != "unsafe" && path != "C" {
				out[path] = true
			}
		}
	}
	return out
}

func (o *outside) has(wanted map[string]bool) bool {
	for path := range wanted {
		if o.pkgs[path] == nil {
			return false
		}
	}
	return true
}

// outside loads packages from export data; those that are there already stay.
func (v *view) outside(ctx context.Context, wanted map[string]bool) (*outside, error) {
	if o := v.universes.outside.Load(); o != nil && o.key == v.graph.key && o.has(wanted) {
		return o, nil
	}
	o := &outside{key: v.graph.key, fset: token.NewFileSet(), pkgs: map[string]*types.Package{}}
	if len(wanted) > 0 {
		const mode = packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedModule
		loaded, err := v.run(ctx, mode, sortedKeys(wanted)...)
		if err != nil {
			return nil, err
		}
		for _, p := range loaded {
			o.fset, o.pkgs[p.PkgPath] = p.Fset, p.Types
		}
	}
	for path := range wanted {
		if o.pkgs[path] == nil {
			// It leads nowhere: whoever imports it has that error.
			o.pkgs[path] = types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		}
	}
	v.universes.outside.Store(o)
	return o, nil
}

// check fills a universe with what nodes declare.
func (v *view) check(u *universe, nodes []*node) {
	c := &declarations{view: v, universe: u, nodes: map[string]*node{}, syntax: v.parse(u.fset, nodes)}
	for _, n := range nodes {
		c.nodes[n.path] = n
	}
	for _, n := range nodes {
		_, _ = c.Import(n.path)
	}
}

// parse reads packages' files side by side.
func (v *view) parse(fset *token.FileSet, nodes []*node) map[string][]*ast.File {
	var all sync.WaitGroup
	parsed := make([][]*ast.File, len(nodes))
	for i, n := range nodes {
		all.Go(func() {
			for _, f := range v.files(n) {
				if file, _ := parser.ParseFile(fset, f.path, nil, parser.SkipObjectResolution); file != nil {
					parsed[i] = append(parsed[i], file)
				}
			}
		})
	}
	all.Wait()
	out := map[string][]*ast.File{}
	for i, n := range nodes {
		out[n.path] = parsed[i]
	}
	return out
}

// declarations type-checks the packages of a universe. It is an importer, so
// that each package finds those below it.
type declarations struct {
	*view
	*universe
	nodes  map[string]*node
	syntax map[string][]*ast.File
}

func (c *declarations) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if known, ok := c.local[path]; ok {
		if known == nil {
			return nil, fmt.Errorf("import cycle through %s", path)
		}
		return known, nil
	}
	n := c.nodes[path]
	if n == nil {
		if p := c.universe.outside.pkgs[path]; p != nil && p.Complete() {
			return p, nil
		}
		return nil, fmt.Errorf("package %s is not there", path)
	}
	c.local[path] = nil // while it is being checked
	config := types.Config{
		Importer: c, IgnoreFuncBodies: true, FakeImportC: true,
		Error: func(err error) { c.fault(err) },
	}
	pkg, _ := config.Check(path, c.fset, c.syntax[path], nil)
	c.local[path] = pkg
	return pkg, nil
}

// fault notes what is wrong with a declaration; the checker goes on.
func (c *declarations) fault(err error) {
	if len(c.broken) < maxErrors {
		c.broken = append(c.broken, c.scrub(err.Error()))
	}
}

// find is a type of the universe by its package and name; nil: it is not there.
func (u *universe) find(path, name string) *types.TypeName {
	pkg := u.local[path]
	if pkg == nil {
		pkg = u.outside.pkgs[path]
	}
	if pkg == nil {
		return nil
	}
	found, _ := pkg.Scope().Lookup(name).(*types.TypeName)
	return found
}

// position is where a type is declared.
func (u *universe) position(obj types.Object) token.Position {
	if obj.Pkg() != nil && u.local[obj.Pkg().Path()] != nil {
		return u.fset.PositionFor(obj.Pos(), false)
	}
	return u.outside.fset.Position(obj.Pos())
}

// declared are the types that a package declares, by name, without aliases.
func declaredTypes(pkg *types.Package) []*types.TypeName {
	var out []*types.TypeName
	for _, name := range pkg.Scope().Names() {
		if obj, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && !obj.IsAlias() {
			out = append(out, obj)
		}
	}
	return out
}

// alone is a universe of one package and what it imports, for types that
// export data does not have.
func (u *unit) alone() *universe {
	out := &universe{fset: u.Fset, local: map[string]*types.Package{u.PkgPath: u.Types}, outside: &outside{fset: u.Fset, pkgs: map[string]*types.Package{}}}
	for _, p := range u.Types.Imports() {
		out.outside.pkgs[p.Path()] = p
	}
	return out
}

// near are the packages whose types count as relatives of a type: the
// workspace's own, and the type's.
func (u *universe) near(home *types.Package) []*types.Package {
	var out []*types.Package
	for _, path := range sortedKeys(u.local) {
		if u.local[path] != nil {
			out = append(out, u.local[path])
		}
	}
	if home != nil && !slices.Contains(out, home) {
		out = append(out, home)
	}
	return out
}
