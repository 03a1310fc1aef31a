package check

import (
	"context"
	"fmt"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Snapshot is the workspace as one call finds it. It belongs to that call alone.
type Snapshot struct {
	Root  source.Root
	Graph *Graph // empty if there is no module

	workspace *Workspace
	listing   *source.Listing
	modules   source.Fingerprint // of the files that define the modules
	moduleDir string             // see [gocode.ModuleDir]
	others    []string           // see [Snapshot.OtherModules]
}

// InModule reports whether the workspace is in a Go module or a go.work workspace.
func (s *Snapshot) InModule() bool { return s.moduleDir != "" }

// importsFingerprint covers all that decides about the import graph.
func (s *Snapshot) importsFingerprint() source.Fingerprint {
	h := source.NewHasher()
	h.Fingerprint(s.modules)
	for _, dir := range s.listing.Dirs() {
		for _, f := range s.listing.In(dir) {
			h.Text(f.Path)
			h.Fingerprint(s.workspace.files.Header(f))
		}
	}
	return h.Sum()
}

// packageFingerprint covers the files that decide about a package's types: its own,
// and those of the local packages below it, where an edit can change method sets and
// sizes.
func (s *Snapshot) packageFingerprint(n *Node) source.Fingerprint {
	h := source.NewHasher()
	h.Fingerprint(s.modules)
	seen := map[string]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		if seen[n.Path] {
			return
		}
		seen[n.Path] = true
		h.Files(s.listing.In(n.Dir)...)
		for _, path := range n.Imports {
			if below := s.Graph.Nodes[path]; below != nil && below.Local {
				visit(below)
			}
		}
	}
	visit(n)
	return h.Sum()
}

// contentFingerprint covers all files that are type-checked from source.
func (s *Snapshot) contentFingerprint() source.Fingerprint {
	h := source.NewHasher()
	h.Fingerprint(s.modules)
	h.Fingerprint(s.Graph.key)
	for _, dir := range s.Graph.sourceDirs() {
		h.Files(s.listing.In(dir)...)
	}
	return h.Sum()
}

// HasGoFiles reports whether a directory of the workspace has Go files, of whatever
// package or platform.
func (s *Snapshot) HasGoFiles(dir string) bool {
	return filepath.IsLocal(filepath.FromSlash(dir)) && s.listing.Has(s.Root.Join(dir))
}

// Files returns a package's files as they are now. The files of packages that are
// not local have no size and time.
func (s *Snapshot) Files(n *Node) []source.File {
	var out []source.File
	if !n.Local {
		for _, path := range n.Files {
			out = append(out, source.File{Path: path})
		}
		return out
	}
	for _, f := range s.listing.In(n.Dir) {
		if slices.Contains(n.Files, f.Path) {
			out = append(out, f)
		}
	}
	return out
}

// Declarations iterates over the names that a package declares, without loading it.
func (s *Snapshot) Declarations(n *Node) iter.Seq[source.Declaration] {
	return func(yield func(source.Declaration) bool) {
		for _, f := range s.Files(n) {
			for _, d := range s.workspace.files.Declarations(f) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// Parse reads the files of packages in parallel, so that [Snapshot.Declarations] has
// them.
func (s *Snapshot) Parse(ctx context.Context, nodes []*Node) error {
	var workers sync.WaitGroup
	work := make(chan source.File)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for f := range work {
				s.workspace.files.Declarations(f)
			}
		})
	}
	for _, n := range nodes {
		for _, f := range s.Files(n) {
			if ctx.Err() == nil {
				work <- f
			}
		}
	}
	close(work)
	workers.Wait()
	return ctx.Err()
}

// Declares reports whether a package declares a name at package level.
func (s *Snapshot) Declares(n *Node, name string) bool {
	for d := range s.Declarations(n) {
		if d.Of == "" && d.Name == name {
			return true
		}
	}
	return false
}

// DeclaredAt returns the declaration of a name whose position comes from export data.
// Source and export data agree on lines and names, not on columns and directories.
func (s *Snapshot) DeclaredAt(n *Node, p token.Position, name string) (source.Declaration, bool) {
	for d := range s.Declarations(n) {
		if d.Name == name && sameLine(d.Position, p) {
			return d, true
		}
	}
	return source.Declaration{}, false
}

// sameLine reports whether two positions are on the same line of files of the same
// name.
func sameLine(p, q token.Position) bool {
	return p.Line == q.Line && filepath.Base(p.Filename) == filepath.Base(q.Filename)
}

// standard is the graph of the standard library: one for all workspaces of a toolchain and platform.
var standard last[*Graph]

// Std returns the graph of the standard library.
func (s *Snapshot) Std(ctx context.Context) (*Graph, error) {
	return s.workspace.std.get(ctx, fmt.Sprintf("%x", s.modules), func(ctx context.Context) (*Graph, error) {
		g := s.workspace.command()
		toolchain, err := g.toolchain(ctx)
		if err != nil {
			return nil, err
		}
		return standard.get(ctx, toolchain, func(ctx context.Context) (*Graph, error) {
			found, err := g.load(ctx, graphMode, "std")
			if err != nil {
				return nil, err
			}
			return newGraph(source.Fingerprint{}, found), nil
		})
	})
}

// Modules returns the paths of the modules in use: those of the packages in the
// graph, and those that go.mod requires though nothing imports them yet.
func (s *Snapshot) Modules() []string {
	var out []string
	for _, n := range s.Graph.Nodes {
		if n.Module != "" {
			out = append(out, n.Module)
		}
	}
	name := filepath.Join(s.moduleDir, "go.mod")
	content, err := os.ReadFile(name)
	if err != nil || s.moduleDir == "" {
		return out
	}
	if parsed, err := modfile.ParseLax(name, content, nil); err == nil {
		for _, r := range parsed.Require {
			out = append(out, r.Mod.Path)
		}
	}
	return out
}
