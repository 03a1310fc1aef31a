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

	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// target is the package that a form becomes a part of.
type target struct {
	toolchain
	name    string // shown to callers: its import path, or scratch
	pkg     string // name of the package
	dir     string // absolute
	pattern string // for the go command; empty: there is nothing in it yet
	lang    string
}

const scratch = "scratch"

// alone says that the package has no files but ours.
func (t *target) alone() bool { return t.pattern == "" }

// target finds the package that a call names. The default is the package at the
// workspace root, or a scratch package where there is none.
func (e *evaluator) target(ctx context.Context, hint, private string) (*target, error) {
	if e.root == "" {
		return nil, errNotOpen
	}
	if err := denied(hint); err != nil {
		return nil, err
	}
	tools := toolchain{dir: e.root, private: private}
	home := e.home()
	if home == "" {
		if hint != "" {
			return nil, fmt.Errorf("there is no package %q: the workspace has no go.mod, in it or above it; leave package out to evaluate in a scratch package", hint)
		}
		return e.standalone(private)
	}
	if hint == "" {
		if !hasGoFiles(e.root) {
			return e.scratch(tools, home, private)
		}
		hint = "."
	}
	clean := path.Clean(filepath.ToSlash(hint))
	if hint == "." || strings.HasPrefix(hint, "./") {
		t, err := e.inDir(ctx, tools, clean)
		if errors.Is(err, errNoGoFiles) && clean == "." {
			return e.scratch(tools, home, private)
		}
		return t, err
	}
	return e.named(ctx, tools, clean)
}

var (
	errNotOpen   = errors.New("the plugin has no workspace yet; the host names one when it configures the plugin")
	errNoGoFiles = errors.New("no Go files")
)

// denied refuses what leads out of the workspace or reads as a flag.
func denied(hint string) error {
	clean := path.Clean(filepath.ToSlash(hint))
	var reason string
	switch {
	case strings.HasPrefix(hint, "-"):
		reason = "it reads as a flag"
	case strings.IndexByte(hint, 0) >= 0 || strings.Contains(hint, "..."):
		reason = "it names no single package"
	case path.IsAbs(clean), filepath.IsAbs(hint), filepath.VolumeName(hint) != "":
		reason = "it is an absolute path"
	case clean == "..", strings.HasPrefix(clean, "../"):
		reason = "it leads out of the workspace"
	default:
		return nil
	}
	return &tool.Error{
		Code: tool.CodePermissionDenied, Stage: tool.StageExecute,
		Message: fmt.Sprintf("package %.200q is refused: %s", hint, reason),
		Hint:    "give an import path, a package name, or a directory relative to the workspace such as ./host",
	}
}

// home is the directory of the go.mod or go.work that the root belongs to; empty:
// none.
func (e *evaluator) home() string {
	for dir := e.root; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"go.mod", "go.work"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func hasGoFiles(dir string) bool { return hasFiles(dir, ".go", "_test.go") }

// hasFiles reports whether a directory has names with an ending, beside those with
// others.
func hasFiles(dir, ending string, but ...string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ending) &&
			!slices.ContainsFunc(but, func(other string) bool { return strings.HasSuffix(e.Name(), other) })
	})
}

// scratch is a package of the workspace's module that has nothing in it.
func (e *evaluator) scratch(tools toolchain, home, private string) (*target, error) {
	content, err := os.ReadFile(filepath.Join(home, "go.mod"))
	if err != nil { // go.work: the root is in no module
		return e.standalone(private)
	}
	// In the root, which is there: go vet cannot work in a directory that is only said to
	// be. Beside test files, which vet would take for the package's, it has to be such a
	// one, and is not vetted.
	t := &target{toolchain: tools, name: scratch, pkg: "main", dir: e.root}
	if hasFiles(e.root, ".go") {
		t.dir = filepath.Join(e.root, mainDir)
	}
	if parsed, err := modfile.ParseLax("go.mod", content, nil); err == nil && parsed.Go != nil {
		t.lang = parsed.Go.Version
	}
	return t, nil
}

// standalone is a scratch package in a module of its own, which has the standard
// library only.
func (e *evaluator) standalone(private string) (*target, error) {
	dir := filepath.Join(private, "module")
	err := os.MkdirAll(filepath.Join(dir, mainDir), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module scratch\n\ngo 1.25\n"), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("the scratch module could not be written: %w", err)
	}
	tools := toolchain{dir: dir, private: private, extra: []string{"GOWORK=off", "GOFLAGS="}}
	return &target{toolchain: tools, name: scratch, pkg: "main", dir: filepath.Join(dir, mainDir), lang: "1.25"}, nil
}

// inDir is the package in a directory of the workspace.
func (e *evaluator) inDir(ctx context.Context, tools toolchain, rel string) (*target, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(e.root, filepath.FromSlash(rel)))
	if err != nil {
		return nil, fmt.Errorf("there is no directory %s in the workspace", rel)
	}
	inside, err := filepath.Rel(e.root, dir)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, denied("../" + rel) //nolint:wrapcheck // a link out is as good as a path out
	}
	pattern := "./" + filepath.ToSlash(inside)
	g, err := e.graphs.load(ctx, tools, patterns(pattern, nil))
	if err != nil {
		return nil, err
	}
	for _, l := range g.order {
		if l.DepOnly || l.Dir != dir {
			continue
		}
		if len(l.GoFiles)+len(l.CompiledGoFiles) == 0 {
			break
		}
		t := &target{toolchain: tools, name: l.ImportPath, pkg: l.Name, dir: dir, pattern: pattern}
		if l.Module != nil {
			t.lang = l.Module.GoVersion
		}
		return t, nil
	}
	return nil, fmt.Errorf("directory %s has %w that belong to a package on this platform", rel, errNoGoFiles)
}

// named is the package of the workspace with an import path, a directory or a name.
func (e *evaluator) named(ctx context.Context, tools toolchain, hint string) (*target, error) {
	if dir := e.places.get(hint); dir != "" {
		if t, err := e.inDir(ctx, tools, dir); err == nil && (t.name == hint || t.called(hint)) {
			return t, nil
		}
	}
	own, err := e.own(ctx, tools)
	if err != nil {
		return nil, err
	}
	for _, fits := range []func(*listed, string) bool{
		func(l *listed, _ string) bool { return l.ImportPath == hint },
		func(_ *listed, rel string) bool { return rel == hint },
		func(l *listed, _ string) bool { return l.Name == hint || strings.HasSuffix(l.ImportPath, "/"+hint) },
	} {
		var found, paths []string
		for _, l := range own {
			if rel, err := filepath.Rel(e.root, l.Dir); err == nil && filepath.IsLocal(rel) && fits(l, filepath.ToSlash(rel)) {
				found, paths = append(found, filepath.ToSlash(rel)), append(paths, l.ImportPath)
			}
		}
		switch {
		case len(found) == 1:
			e.places.put(hint, found[0])
			return e.inDir(ctx, tools, found[0])
		case len(found) > 1:
			return nil, fmt.Errorf("package %s is ambiguous: it can be %s; name one of these in full", hint, strings.Join(paths, ", "))
		}
	}
	return nil, noPackage(hint, own)
}

func (t *target) called(hint string) bool {
	return t.pkg == hint || strings.HasSuffix(t.name, "/"+hint)
}

func noPackage(hint string, own []*listed) error {
	var known []string
	for _, l := range own {
		known = append(known, l.ImportPath, l.Name)
	}
	slices.Sort(known)
	msg := fmt.Sprintf("there is no package %.200q in the workspace", hint)
	if near := suggest.Nearest(hint, slices.Compact(known), 3); len(near) > 0 {
		msg += "; did you mean " + strings.Join(near, ", ") + "?"
	} else {
		msg += "; forms are evaluated in packages of the workspace, others can be imported: import \"path\""
	}
	return errors.New(msg)
}

// own are the packages of the workspace.
func (e *evaluator) own(ctx context.Context, tools toolchain) ([]*listed, error) {
	all := []string{"./..."}
	if _, err := os.Stat(filepath.Join(e.home(), "go.work")); err == nil {
		out, _, err := tools.run(ctx, "list", "-m", "-f", "{{.Dir}}")
		if err != nil {
			return nil, err
		}
		all = nil
		for dir := range strings.Lines(out) {
			rel, err := filepath.Rel(e.root, strings.TrimSpace(dir))
			if err == nil && filepath.IsLocal(rel) {
				all = append(all, "./"+filepath.ToSlash(rel)+"/...")
			}
		}
	}
	g, err := list(ctx, tools, append([]string{"-e"}, all...)...)
	if err != nil {
		return nil, err
	}
	return g.order, nil
}
