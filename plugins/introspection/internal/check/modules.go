package check

import (
	"cmp"
	"path/filepath"
	"slices"

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
func (s *Snapshot) OtherModules() []string {
	found := map[string]bool{}
	for _, dir := range s.listing.ModuleDirs() {
		if other := s.OtherModule(dir); other != "" {
			found[other] = true
		}
	}
	return source.SortedKeys(found)
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
