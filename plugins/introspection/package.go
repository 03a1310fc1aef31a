package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A package is named by its import path, by a directory below the root, or by
// its name or the end of its path. What a name means is looked for in tiers,
// nearest first: a tier with an answer hides those behind it, and two answers
// in one tier are ambiguous.
const (
	tierExact  = iota // the import path itself
	tierDir           // a directory of the workspace
	tierOwn           // the workspace's packages, by name or end of path
	tierPublic        // dependencies and std, by name or end of path
	tierHidden        // what of them is internal
	tierCount
)

// denied refuses what would lead the go command out of the workspace or be
// taken for a flag by it.
func denied(hint string) error {
	var reason string
	clean := path.Clean(filepath.ToSlash(hint))
	switch {
	case strings.HasPrefix(hint, "-"):
		reason = "it reads as a flag"
	case filepath.IsAbs(hint), path.IsAbs(clean), filepath.VolumeName(hint) != "":
		reason = "it is an absolute path"
	case clean == "..", strings.HasPrefix(clean, "../"):
		reason = "it leads out of the workspace"
	default:
		return nil
	}
	return refusal(hint, reason)
}

func refusal(hint, reason string) error {
	return &tool.Error{
		Code: tool.CodePermissionDenied, Stage: tool.StageExecute,
		Message: fmt.Sprintf("package %q is refused: %s", hint, reason),
		Hint:    "give an import path, a package name, or a directory relative to the workspace such as ./host",
	}
}

func isDir(hint string) bool { return hint == "." || strings.HasPrefix(hint, "./") }

// find gives what a hint means in one tier, by path.
func (v *view) find(ctx context.Context, hint string, tier int) ([]*node, error) {
	if isDir(hint) {
		if tier != tierDir {
			return nil, nil
		}
		return one(v.dir(ctx, path.Clean(hint)))
	}
	switch tier {
	case tierExact:
		return one(v.exact(ctx, hint))
	case tierDir:
		return v.graph.sorted(func(n *node) bool {
			rel, ok := v.relative(n.dir)
			return ok && n.own && rel == path.Clean(hint)
		}), nil
	case tierOwn:
		return v.graph.sorted(func(n *node) bool { return n.own && n.called(hint) }), nil
	}
	return v.elsewhere(ctx, hint, tier == tierHidden)
}

func one(n *node, err error) ([]*node, error) {
	if n == nil || err != nil {
		return nil, err
	}
	return []*node{n}, nil
}

// called reports whether a hint is the package's name or the end of its path.
func (n *node) called(hint string) bool {
	return n.name == hint || n.path == hint || strings.HasSuffix(n.path, "/"+hint)
}

// elsewhere finds packages that are not the workspace's own.
func (v *view) elsewhere(ctx context.Context, hint string, hidden bool) ([]*node, error) {
	std, err := v.loadStd(ctx, v.modules)
	if err != nil {
		return nil, err
	}
	fits := func(n *node) bool { return !n.own && n.name != "main" && n.called(hint) && n.hidden() == hidden }
	out := v.graph.sorted(fits)
	for _, n := range std.sorted(fits) {
		if v.graph.nodes[n.path] == nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// hidden says that other modules cannot import the package.
func (n *node) hidden() bool {
	parts := strings.Split(n.path, "/")
	return slices.Contains(parts, "internal") || parts[0] == "vendor"
}

// exact finds a package by its import path: also one that the workspace could
// import but does not. It gives nil for a path that leads nowhere.
func (v *view) exact(ctx context.Context, hint string) (*node, error) {
	if n := v.graph.nodes[hint]; n != nil {
		return n, nil
	}
	if !importable(hint) {
		return nil, nil
	}
	if v.provided(hint) {
		return v.stray(ctx, hint)
	}
	if first, _, _ := strings.Cut(hint, "/"); strings.Contains(first, ".") {
		return nil, nil
	}
	std, err := v.loadStd(ctx, v.modules)
	if err != nil {
		return nil, err
	}
	return std.nodes[hint], nil
}

// importable reports whether a hint is an import path and no pattern, query or
// flag.
func importable(hint string) bool {
	return module.CheckImportPath(hint) == nil && !strings.Contains(hint, "...")
}

// provided reports whether a module that the workspace requires could have a
// package of this path. Asking the go command for any other path would be
// slow at best, and may send what a caller typed over the network.
func (v *view) provided(hint string) bool {
	for _, m := range v.requires() {
		if hint == m || strings.HasPrefix(hint, m+"/") {
			return true
		}
	}
	return false
}

// requires are the paths of the modules in use: those that packages come from,
// and those that go.mod names though nothing imports them yet.
func (v *view) requires() []string {
	var out []string
	for _, n := range v.graph.nodes {
		if n.module != "" {
			out = append(out, n.module)
		}
	}
	name := filepath.Join(v.home, "go.mod")
	content, err := os.ReadFile(name)
	if err != nil || v.home == "" {
		return out
	}
	if parsed, err := modfile.ParseLax(name, content, nil); err == nil {
		for _, r := range parsed.Require {
			out = append(out, r.Mod.Path)
		}
	}
	return out
}

// dir finds the package in a directory below the root.
func (v *view) dir(ctx context.Context, rel string) (*node, error) {
	if v.home == "" {
		return nil, errNoModule
	}
	full := filepath.Join(v.root, filepath.FromSlash(rel))
	if own := v.graph.sorted(func(n *node) bool { return n.own && n.dir == full }); len(own) > 0 {
		return own[0], nil
	}
	target, err := filepath.EvalSymlinks(full)
	if err != nil {
		return nil, fmt.Errorf("there is no directory %s in the workspace", rel)
	}
	inside, ok := v.relative(target)
	if !ok {
		return nil, refusal("./"+rel, "it leads out of the workspace")
	}
	if info, err := os.Stat(target); err != nil || !info.IsDir() || inside != "." && module.CheckFilePath(inside) != nil {
		return nil, fmt.Errorf("%s is not a directory that can hold a package", rel)
	}
	n, err := v.stray(ctx, strings.TrimSuffix("./"+inside, "/."))
	if n == nil && err == nil {
		err = fmt.Errorf("directory %s has no Go files that belong to a package on this platform", rel)
	}
	return n, err
}

// pkg is the one package that an argument names, which [denied] has not refused.
func (v *view) pkg(ctx context.Context, hint string) (*node, error) {
	hint = strings.TrimSuffix(filepath.ToSlash(hint), "/")
	for tier := range tierCount {
		found, err := v.find(ctx, hint, tier)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, ambiguous("package", hint, paths(found))
		}
	}
	return nil, v.noPackage(ctx, hint)
}

func paths(nodes []*node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.path)
	}
	return out
}

func ambiguous(kind, name string, candidates []string) error {
	slices.Sort(candidates)
	return fmt.Errorf("%s %s is ambiguous: it can be %s; name one of these in full", kind, name, strings.Join(candidates, ", "))
}

// noPackage says that there is no such package, and which names are near.
func (v *view) noPackage(ctx context.Context, hint string) error {
	if v.home == "" && strings.Contains(hint, ".") {
		return errNoModule
	}
	known, err := v.packageNames(ctx)
	if err != nil {
		return err
	}
	msg := fmt.Sprintf("there is no package %q in the workspace, its dependencies or the standard library", hint)
	if v.home == "" {
		msg = fmt.Sprintf("there is no package %q in the standard library; %v", hint, errNoModule)
	}
	return errors.New(msg + didYouMean(nearest(hint, known)))
}

// packageNames are all packages that can be named, by path.
func (v *view) packageNames(ctx context.Context) ([]string, error) {
	std, err := v.loadStd(ctx, v.modules)
	if err != nil {
		return nil, err
	}
	visible := func(n *node) bool { return n.own || !n.hidden() }
	names := append(paths(v.graph.sorted(visible)), paths(std.sorted(visible))...)
	slices.Sort(names)
	return slices.Compact(names), nil
}
