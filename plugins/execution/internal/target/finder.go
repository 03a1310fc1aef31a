package target

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Finder finds packages of a workspace. It is safe for concurrent use.
type Finder struct {
	Root  source.Root
	Cache *gocmd.Cache

	mu   sync.Mutex
	dirs map[string]string // of packages that were found, by hint
}

// maxDirs bounds how many directories are remembered.
const maxDirs = 32

// Find returns the package that a hint names: an import path, a directory
// relative to the root such as ./host, a package name or the end of an import
// path. The default is the package at the root, or an empty one if there is none, which is
// also named [Scratch]. For a package that is not of the workspace but can be imported, it
// is an empty one that imports it.
// The go command puts its temporary files in temp.
//
// # Errors
//
// [tool.CodePermissionDenied] for a hint that leads out of the workspace.
func (f *Finder) Find(ctx context.Context, hint, temp string) (*Target, error) {
	if f.Root == "" {
		return nil, errNoWorkspace
	}
	if err := refuse(hint); err != nil {
		return nil, err
	}
	home := gocode.ModuleDir(string(f.Root))
	clean := path.Clean(filepath.ToSlash(hint))
	cmd := gocmd.Command{Dir: string(f.Root), Temp: temp}
	if hint != "" && hint != "." {
		if dir, _, err := f.dir(clean); err == nil && f.nested(dir) != "" {
			return f.inDir(ctx, cmd, clean)
		}
	}
	if home == "" {
		if hint != "" && hint != Scratch {
			return nil, fmt.Errorf("there is no package %q: the workspace has no go.mod, and neither has a directory above it; "+
				"leave package out to evaluate in a scratch package", hint)
		}
		return standalone(temp)
	}
	if hint == "" {
		if !hasFiles(string(f.Root), ".go", "_test.go") {
			return scratch(string(f.Root), home, temp)
		}
		hint, clean = ".", "."
	}
	if hint == "." || strings.HasPrefix(hint, "./") {
		t, err := f.inDir(ctx, cmd, clean)
		if errors.Is(err, errNoGoFiles) && clean == "." {
			return scratch(string(f.Root), home, temp)
		}
		return t, err
	}
	t, err := f.named(ctx, cmd, clean)
	if err == nil {
		return t, nil
	}
	if clean == Scratch {
		return scratch(string(f.Root), home, temp)
	}
	if t := f.outside(ctx, cmd, clean, home); t != nil {
		return t, nil
	}
	return nil, err
}

// outside returns an empty package that imports one which is not of the workspace; nil if
// there is none of that path, or of that name in the standard library.
func (f *Finder) outside(ctx context.Context, cmd gocmd.Command, hint, home string) *Target {
	path := hint
	if std, err := f.Cache.Std(ctx, cmd); err == nil && len(std[hint]) == 1 {
		path = std[hint][0].ImportPath
	}
	g, err := f.Cache.Load(ctx, cmd, "", map[string]bool{path: true})
	if err != nil || g.ImportError(path) != nil {
		return nil
	}
	t, err := scratch(string(f.Root), home, cmd.Temp)
	if err != nil {
		return nil
	}
	name := g.Name(path)
	t.Given = map[string]string{name: path}
	t.Note = fmt.Sprintf("package %s is not of the workspace: the form is evaluated in a scratch package "+
		"that can use what it exports, as %s.Name", path, name)
	return t
}

// Fallback returns an empty package to use in place of one that does not compile: first one
// of the workspace's module, then, if the module is broken too, one that can import the
// standard library only.
func (f *Finder) Fallback(temp string, module bool) (*Target, error) {
	if home := gocode.ModuleDir(string(f.Root)); module && home != "" {
		return scratch(string(f.Root), home, temp)
	}
	return standalone(temp)
}

// dir returns a directory of the workspace, and its path from the root, without symbolic
// links.
func (f *Finder) dir(rel string) (dir, inside string, err error) {
	dir, err = filepath.EvalSymlinks(f.Root.Join(rel))
	if err != nil {
		return "", "", fmt.Errorf("there is %w %s in the workspace", errNoDirectory, rel)
	}
	inside, ok := f.Root.Relative(dir)
	if !ok {
		return "", "", refuse("../" + rel) // a link that leads out is as bad as a path that does
	}
	return dir, inside, nil
}

// nested returns the root of the module in the workspace that a directory belongs to, which has
// its own dependencies; empty if it belongs to the workspace's own.
func (f *Finder) nested(dir string) string {
	module := gocode.ModuleDir(dir)
	if rel, ok := f.Root.Relative(module); !ok || rel == "." {
		return ""
	}
	return module
}

// inDir returns the package in a directory of the workspace.
func (f *Finder) inDir(ctx context.Context, cmd gocmd.Command, rel string) (*Target, error) {
	dir, inside, err := f.dir(rel)
	if err != nil {
		return nil, err
	}
	pattern := "./" + inside
	if module := f.nested(dir); module != "" {
		below, err := filepath.Rel(module, dir)
		if err != nil {
			return nil, err
		}
		cmd.Dir, pattern = module, "./"+filepath.ToSlash(below)
	}
	g, err := f.Cache.Load(ctx, cmd, pattern, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range g.Order {
		if p.DepOnly || p.Dir != dir {
			continue
		}
		own := len(p.GoFiles) + len(p.CompiledGoFiles)
		if own+len(p.TestGoFiles) == 0 {
			break
		}
		t := &Target{Go: cmd, Path: p.ImportPath, Name: p.Name, Dir: dir, Pattern: pattern, OnlyTests: own == 0}
		if p.Module != nil {
			t.Language = p.Module.GoVersion
		}
		return t, nil
	}
	return nil, fmt.Errorf("directory %s has %w that belong to a package on this platform", rel, errNoGoFiles)
}

// named returns the package of the workspace with an import path, a directory or
// a name.
func (f *Finder) named(ctx context.Context, cmd gocmd.Command, hint string) (*Target, error) {
	f.mu.Lock()
	dir := f.dirs[hint]
	f.mu.Unlock()
	if dir != "" {
		if t, err := f.inDir(ctx, cmd, dir); err == nil && t.matches(hint) {
			return t, nil
		}
	}
	dir, err := f.lookUp(ctx, cmd, hint)
	if err != nil {
		return nil, err
	}
	f.remember(hint, dir)
	return f.inDir(ctx, cmd, dir)
}

// lookUp returns the directory of the package of the workspace with an import path, a
// directory or a name, from the root.
func (f *Finder) lookUp(ctx context.Context, cmd gocmd.Command, hint string) (string, error) {
	g, err := gocmd.List(ctx, cmd, append([]string{"-e"}, f.everything()...)...)
	if err != nil {
		return "", err
	}
	for _, matches := range []func(p *gocmd.Package, dir string) bool{
		func(p *gocmd.Package, _ string) bool { return p.ImportPath == hint },
		func(_ *gocmd.Package, dir string) bool { return dir == hint },
		func(p *gocmd.Package, _ string) bool {
			return p.Name == hint || strings.HasSuffix(p.ImportPath, "/"+hint)
		},
	} {
		var dirs, paths []string
		for _, p := range g.Order {
			if rel, ok := f.Root.Relative(p.Dir); ok && matches(p, rel) {
				dirs, paths = append(dirs, rel), append(paths, p.ImportPath)
			}
		}
		switch {
		case len(dirs) == 1:
			return dirs[0], nil
		case len(dirs) > 1:
			return "", fmt.Errorf("package %s is ambiguous: it can be %s; name one of these in full",
				hint, strings.Join(paths, ", "))
		}
	}
	return "", notFound(hint, g.Order)
}

func (f *Finder) remember(hint, dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs == nil || len(f.dirs) >= maxDirs {
		f.dirs = map[string]string{}
	}
	f.dirs[hint] = dir
}

// everything returns the patterns that name all packages of the workspace.
func (f *Finder) everything() []string {
	return source.Patterns(f.Root, gocode.ModuleDir(string(f.Root)))
}

func notFound(hint string, packages []*gocmd.Package) error {
	var known []string
	for _, p := range packages {
		known = append(known, p.ImportPath, p.Name)
	}
	slices.Sort(known)
	msg := fmt.Sprintf("there is no package %.200q in the workspace", hint)
	if near := suggest.Nearest(hint, slices.Compact(known), 3); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", msg, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s; packages that are not of the workspace can only be imported", msg)
}
