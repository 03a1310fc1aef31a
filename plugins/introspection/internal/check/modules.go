package check

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Module is a module of the workspace.
type Module struct {
	Path, Dir string
	Go        string // such as go1.26
}

// OwnModules returns the modules of the workspace's packages, by path.
func (s *Snapshot) OwnModules() []Module {
	out := slices.Clone(s.Graph.modules)
	slices.SortFunc(out, func(a, b Module) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// Requires returns the modules that the workspace's packages and their tests use, with
// what these use, by path.
func (s *Snapshot) Requires() []string {
	found := map[string]bool{}
	for _, n := range s.Graph.Nodes {
		if !n.Own && n.Module != "" {
			found[n.Module] = true
		}
	}
	return source.SortedKeys(found)
}

// OtherModules returns the directories below the root with modules that are not the
// workspace's.
func (s *Snapshot) OtherModules() []string { return s.others }

func otherModules(s *Snapshot, l *source.Listing) []string {
	found := map[string]bool{}
	for _, dir := range l.ModuleDirs() {
		if other := s.OtherModule(dir); other != "" {
			found[other] = true
		}
	}
	return source.SortedKeys(found)
}

// moduleOf returns the directory of the other module that has a directory, a file, or a package by its import path.
func (s *Snapshot) moduleOf(place string) string {
	place = strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(place), "..."), "/")
	inner := ""
	for _, other := range s.others { // sorted, so that a module comes after those that it is in
		if isIn(path.Clean(place), other) {
			inner = s.Root.Join(other)
		}
	}
	if host, _, _ := strings.Cut(place, "/"); inner != "" || !strings.Contains(host, ".") || s.Graph.Nodes[place] != nil {
		return inner // such as a package of the standard library
	}
	for _, other := range s.others {
		content, err := os.ReadFile(s.Root.Join(other, "go.mod"))
		if name := modfile.ModulePath(content); err == nil && name != "" && isIn(place, name) {
			inner = s.Root.Join(other)
		}
	}
	return inner
}

func isIn(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// NoModule returns the error for what needs a module, if the root is in none.
func (s *Snapshot) NoModule() error {
	const shown = 10
	if len(s.others) == 0 {
		return errNoModule
	}
	more := ""
	if n := len(s.others) - shown; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("the workspace's root is in no module; name a directory of one below it, as ./DIR or ./DIR/...: %s%s",
		strings.Join(s.others[:min(len(s.others), shown)], ", "), more)
}

// PackageSynopsis returns the first sentence of a package's documentation, without
// loading the package.
func (s *Snapshot) PackageSynopsis(n *Node) string {
	for _, f := range s.Files(n) {
		if text := s.workspace.files.Synopsis(f); text != "" {
			return text
		}
	}
	return ""
}

// isModule reports whether one of the workspace's modules has its root in a directory.
func (g *Graph) isModule(dir string) bool {
	return slices.ContainsFunc(g.modules, func(m Module) bool { return filepath.Clean(m.Dir) == dir })
}
