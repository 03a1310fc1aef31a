package lookup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
)

// Finder finds packages and symbols in a snapshot of the workspace.
type Finder struct{ Snapshot *check.Snapshot }

// New looks at the workspace as it is now. It refuses the name of a package that must
// not be loaded before it looks at anything.
func New(ctx context.Context, w *check.Workspace, pkg string) (Finder, error) {
	if err := gocode.CheckPackage(pkg); err != nil {
		return Finder{}, err
	}
	s, err := w.Snapshot(ctx, pkg)
	return Finder{s}, err
}

// A package is named by its import path, by a directory below the root, or by its
// name or the end of its path. These tiers are searched in order: a tier with a match
// hides those after it, and two matches in one tier are ambiguous.
type tier int

const (
	tierPath     tier = iota // the import path itself
	tierDir                  // a directory of the workspace
	tierOwn                  // the workspace's packages, by name or end of path
	tierTests                // the same with their test files, and packages of tests by their own names
	tierExternal             // packages of tests, by the names of the packages next to them
	tierPublic               // dependencies and the standard library, by name or end of path
	tierTestOnly             // dependencies of tests alone
	tierInternal             // the internal packages of dependencies and the standard library
	tierCount
)

// inTiers returns what find returns for the first tier in which there is anything.
func inTiers[T any](find func(tier) ([]T, error)) ([]T, error) {
	for t := range tierCount {
		if found, err := find(t); len(found) > 0 || err != nil {
			return found, err
		}
	}
	return nil, nil
}

func isDir(name string) bool { return name == "." || strings.HasPrefix(name, "./") }

// inTier returns the packages that a name means in one tier, by path.
func (f Finder) inTier(ctx context.Context, name string, t tier) ([]*check.Node, error) {
	if isDir(name) {
		switch t {
		case tierDir:
			return atMostOne(f.inDir(ctx, path.Clean(name)))
		case tierTests:
			return f.testNodes(func(n *check.Node) bool { return n.TestOf == n.Path && f.isIn(n, name) }), nil
		case tierExternal:
			return f.testNodes(func(n *check.Node) bool { return n.TestOf != n.Path && f.isIn(n, name) }), nil
		}
		return nil, nil
	}
	switch t {
	case tierPath:
		return atMostOne(f.Snapshot.Find(ctx, name))
	case tierDir:
		return f.Snapshot.Graph.Select(func(n *check.Node) bool { return n.Own && f.isIn(n, name) }), nil
	case tierOwn:
		return f.Snapshot.Graph.Select(func(n *check.Node) bool { return n.Own && n.Named(name) }), nil
	case tierTests:
		return f.testNodes(func(n *check.Node) bool { return n.Named(name) || n.TestOf == n.Path && f.isIn(n, name) }), nil
	case tierExternal:
		return f.testNodes(func(n *check.Node) bool {
			return n.TestOf != n.Path && (n.Named(name+"_test") || f.isIn(n, name))
		}), nil
	}
	return f.elsewhere(ctx, name, t)
}

// testNodes returns packages with test files.
func (f Finder) testNodes(keep func(*check.Node) bool) []*check.Node {
	var out []*check.Node
	for _, n := range f.Snapshot.Graph.Tests {
		if keep(n) {
			out = append(out, n)
		}
	}
	return out
}

// isIn reports whether a package is in a directory of the workspace.
func (f Finder) isIn(n *check.Node, dir string) bool {
	rel, ok := f.Snapshot.Root.Relative(n.Dir)
	return ok && rel == path.Clean(dir)
}

func atMostOne(n *check.Node, err error) ([]*check.Node, error) {
	if n == nil || err != nil {
		return nil, err
	}
	return []*check.Node{n}, nil
}

// elsewhere returns packages that are not the workspace's.
func (f Finder) elsewhere(ctx context.Context, name string, t tier) ([]*check.Node, error) {
	std, err := f.Snapshot.Std(ctx)
	if err != nil {
		return nil, err
	}
	fits := func(n *check.Node) bool {
		of := tierPublic
		switch {
		case gocode.IsInternal(n.Path):
			of = tierInternal
		case n.TestOnly && !n.Std:
			of = tierTestOnly
		}
		return !n.Own && n.Name != "main" && n.Named(name) && of == t
	}
	out := f.Snapshot.Graph.Select(fits)
	for _, n := range std.Select(fits) {
		if f.Snapshot.Graph.Nodes[n.Path] == nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// inDir returns the package in a directory below the root.
func (f Finder) inDir(ctx context.Context, rel string) (*check.Node, error) {
	if !f.Snapshot.InModule() {
		return nil, f.Snapshot.NoModule()
	}
	full := f.Snapshot.Root.Join(rel)
	known := f.Snapshot.Graph.Select(func(n *check.Node) bool { return n.Local && n.Dir == full })
	if len(known) > 0 {
		return known[0], nil
	}
	target, err := filepath.EvalSymlinks(full)
	if err != nil {
		return nil, fmt.Errorf("there is no directory %s in the workspace", rel)
	}
	inside, ok := f.Snapshot.Root.Relative(target)
	if !ok {
		return nil, gocode.RefusePackage("./"+rel, "it leads out of the workspace")
	}
	info, err := os.Stat(target)
	if err != nil || !info.IsDir() || inside != "." && module.CheckFilePath(inside) != nil {
		return nil, fmt.Errorf("%s is not a directory that can hold a package", rel)
	}
	if other := f.Snapshot.OtherModule(target); other != "" {
		return nil, fmt.Errorf("directory %s belongs to another module, whose root is %s; ask for that one by itself", rel, other)
	}
	n, err := f.Snapshot.Unlisted(ctx, target)
	if n == nil && err == nil {
		err = fmt.Errorf("directory %s has no Go files", rel)
	}
	return n, err
}

// Package returns the one package that a name means, which must have passed
// [gocode.CheckPackage].
//
// # Errors
//
// A plain error, with the nearest names, if there is no such package or more than
// one.
func (f Finder) Package(ctx context.Context, name string) (*check.Node, error) {
	name = strings.TrimSuffix(filepath.ToSlash(name), "/")
	found, err := inTiers(func(t tier) ([]*check.Node, error) { return f.inTier(ctx, name, t) })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, f.noPackage(ctx, name)
	case len(found) > 1:
		return nil, Ambiguous("package", name, Paths(found))
	}
	return found[0], nil
}

// WithTests returns the package of a directory with its test files, or the package
// itself if there is none.
func (f Finder) WithTests(n *check.Node) *check.Node {
	for _, with := range f.Snapshot.Graph.TestsOf(n.Path) {
		if len(n.Files) == 0 || with.Path == n.Path {
			return with
		}
	}
	return n
}

// PackageWithFiles is like [Finder.Package], for a package that has files on this
// platform. If only test files are in its directory, it returns the package of these.
func (f Finder) PackageWithFiles(ctx context.Context, name string) (*check.Node, error) {
	n, err := f.Package(ctx, name)
	if err == nil && len(n.Files) == 0 {
		n = f.WithTests(n)
	}
	if err == nil && len(n.Files) == 0 {
		err = f.noFiles(n)
	}
	return n, err
}

// Called returns the packages with a name, of the workspace if it has any, that
// declare all symbols.
func (f Finder) Called(ctx context.Context, name string, symbols []string) ([]*check.Node, error) {
	for _, t := range []tier{tierOwn, tierPublic} {
		found, err := f.inTier(ctx, name, t)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(n *check.Node) bool {
			return n.Name != name ||
				slices.ContainsFunc(symbols, func(s string) bool { return !f.Snapshot.Declares(n, s) })
		})
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// Paths returns the import paths of packages.
func Paths(nodes []*check.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Path)
	}
	return out
}

// Ambiguous returns the error for a name with several meanings.
func Ambiguous(kind, name string, candidates []string) error {
	slices.Sort(candidates)
	return fmt.Errorf("%s %s is ambiguous: it can be %s; name one of these in full",
		kind, name, strings.Join(candidates, ", "))
}

// noPackage returns the error for a name without a package, with the nearest names.
func (f Finder) noPackage(ctx context.Context, name string) error {
	if !f.Snapshot.InModule() && strings.Contains(name, ".") {
		return f.Snapshot.NoModule()
	}
	if f.Snapshot.HasGoFiles(name) { // but no package that is part of the workspace
		n, err := f.inDir(ctx, path.Clean(name))
		if err == nil {
			err = f.noFiles(n)
		}
		return err
	}
	known, err := f.packageNames(ctx)
	if err != nil {
		return err
	}
	msg := fmt.Sprintf("there is no package %q in the workspace, its dependencies or the standard library", name)
	if !f.Snapshot.InModule() {
		msg = fmt.Sprintf("there is no package %q in the standard library; %v", name, f.Snapshot.NoModule())
	}
	return errors.New(msg + DidYouMean(name, known))
}

// packageNames returns the paths of all packages that can be named.
func (f Finder) packageNames(ctx context.Context) ([]string, error) {
	std, err := f.Snapshot.Std(ctx)
	if err != nil {
		return nil, err
	}
	visible := func(n *check.Node) bool { return n.Own || !gocode.IsInternal(n.Path) }
	names := append(Paths(f.Snapshot.Graph.Select(visible)), Paths(std.Select(visible))...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// noFiles returns the error for a package without Go files for this platform.
func (f Finder) noFiles(n *check.Node) error {
	if len(n.LeftOut) > 0 {
		return fmt.Errorf("package %s has no Go files on this platform; %s", n.Path, f.LeftOut(n.LeftOut))
	}
	msg := fmt.Sprintf("package %s has no Go files", n.Path)
	if len(n.Errors) > 0 {
		msg += ": " + f.Snapshot.Root.Scrub(n.Errors[0].Msg)
	}
	return errors.New(msg)
}

// OwnNames returns the names that the workspace's packages declare, qualified with the
// packages' names.
func (f Finder) OwnNames() []string {
	return f.Names(f.Snapshot.Graph.Select(func(n *check.Node) bool { return n.Own }))
}

// Names returns the names that packages declare, qualified with the packages' names:
// all names of the workspace's packages, and the exported names of others.
func (f Finder) Names(nodes []*check.Node) []string {
	names := map[string]bool{}
	for _, n := range nodes {
		for d := range f.Snapshot.Declarations(n) {
			if n.Own || d.Exported() {
				names[n.Name+"."+d.String()] = true
			}
		}
	}
	return source.SortedKeys(names)
}
