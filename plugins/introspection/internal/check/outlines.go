package check

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Outlines has the types that packages declare. They were checked in one batch, so
// that types of different packages can be compared, which those of a [Package] cannot.
type Outlines struct {
	// Local has the packages of the workspace and of modules replaced by directories,
	// by path. Imported has what these import.
	Local, Imported []*types.Package
	// Further are the packages that the imported ones are built with, by path, without
	// internal ones.
	Further []*types.Package
	// Tests has the workspace's packages with their test files. They are packages of their
	// own, and those that they import may be too: see [Outlines.SeenFrom].
	Tests  []*types.Package
	Errors []string // what is wrong with the declarations, at most [MaxErrors]

	fset   *token.FileSet
	byPath map[string]*types.Package
	tests  map[string]*types.Package // by ID
}

// Outlines returns the outlines of the workspace, and the package of n wherever that
// is from. The outlines of a nil n are the workspace's alone. Without tests, they have
// no packages with test files.
func (s *Snapshot) Outlines(ctx context.Context, n *Node, tests bool) (*Outlines, error) {
	g, extra := s.Graph, ""
	nodes := s.Graph.Select(func(n *Node) bool { return n.Local })
	key := fmt.Sprintf("%x %v", s.contentFingerprint(), tests)
	switch {
	case n == nil, n.TestOf != "":
	case !n.Local:
		if !imports(nodes, n.Path) {
			extra = n.Path
			key += " " + extra
		}
	case s.Graph.Nodes[n.Path] == nil:
		g = g.with(n)
		nodes = append(nodes, n)
		h := source.NewHasher()
		h.Files(s.Files(n)...)
		key += fmt.Sprintf(" %s %x", n.Path, h.Sum())
	}
	return s.workspace.checker.lastOutlines.get(ctx, key, func(ctx context.Context) (*Outlines, error) {
		b, err := s.newBatch(ctx, g, extra)
		if err != nil {
			return nil, err
		}
		defer b.end()
		out, err := b.outlines(ctx, nodes, extra)
		if err == nil && tests {
			err = b.testOutlines(ctx, out)
		}
		return out, err
	})
}

func imports(nodes []*Node, path string) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return slices.Contains(n.Imports, path) })
}

func (b *batch) outlines(ctx context.Context, nodes []*Node, extra string) (*Outlines, error) {
	out := &Outlines{fset: b.parser.fset, byPath: map[string]*types.Package{}}
	tasks := make([]*task, len(nodes))
	err := each(len(nodes), func(i int) error {
		tasks[i] = b.outlined(ctx, nodes[i])
		return tasks[i].err
	})
	if err != nil {
		return nil, err
	}
	imported := map[string]bool{}
	if extra != "" {
		imported[extra] = true
	}
	for i, n := range nodes {
		out.Local = append(out.Local, tasks[i].outline)
		out.Errors = append(out.Errors, tasks[i].errors...)
		out.byPath[n.Path] = tasks[i].outline
		for _, path := range n.Imports {
			imported[path] = true
		}
	}
	out.Errors = out.Errors[:min(len(out.Errors), MaxErrors)]
	for _, path := range source.SortedKeys(imported) {
		if out.byPath[path] != nil || path == "unsafe" {
			continue
		}
		if pkg, err := b.imported(ctx, path); err == nil {
			out.Imported = append(out.Imported, pkg)
			out.byPath[path] = pkg
		}
	}
	for _, n := range b.graph.Select((*Node).isPublic) {
		if out.byPath[n.Path] != nil || n.Path == "unsafe" {
			continue
		}
		if pkg, err := b.imported(ctx, n.Path); err == nil {
			out.Further = append(out.Further, pkg)
			out.byPath[n.Path] = pkg
		}
	}
	return out, nil
}

// testOutlines adds the packages with test files.
func (b *batch) testOutlines(ctx context.Context, out *Outlines) error {
	nodes := b.graph.Tests
	out.Tests, out.tests = make([]*types.Package, len(nodes)), map[string]*types.Package{}
	err := each(len(nodes), func(i int) error {
		t := b.outlined(ctx, nodes[i])
		out.Tests[i] = t.outline
		return t.err
	})
	for i, n := range nodes {
		out.tests[n.id] = out.Tests[i]
	}
	return err
}

// TypeIn returns a type of a package with test files by its name, or nil.
func (o *Outlines) TypeIn(n *Node, name string) *types.TypeName {
	if o.tests[n.id] == nil {
		return nil
	}
	found, _ := o.tests[n.id].Scope().Lookup(name).(*types.TypeName)
	return found
}

// SeenFrom returns the package of a path as another one sees it, which a package with
// test files may do in a variant of its own. It is nil for a path that is in no outline.
func (o *Outlines) SeenFrom(from *types.Package, path string) *types.Package {
	if from == nil {
		return o.byPath[path]
	}
	seen := map[*types.Package]bool{}
	var search func(p *types.Package) *types.Package
	search = func(p *types.Package) *types.Package {
		if p.Path() == path {
			return p
		}
		if seen[p] {
			return nil
		}
		seen[p] = true
		for _, imported := range p.Imports() {
			if found := search(imported); found != nil {
				return found
			}
		}
		return nil
	}
	if found := search(from); found != nil {
		return found
	}
	return o.byPath[path]
}

// InTest reports whether a test file declares something.
func (o *Outlines) InTest(obj types.Object) bool {
	return strings.HasSuffix(o.Position(obj).Filename, "_test.go")
}

// Outlines returns the outlines of one package and what it imports, for types that
// export data does not have.
func (p *Package) Outlines() *Outlines {
	out := &Outlines{
		Local: []*types.Package{p.Types}, Imported: p.Types.Imports(), fset: p.Fset,
		byPath: map[string]*types.Package{p.Node.Path: p.Types},
	}
	for _, imported := range out.Imported {
		out.byPath[imported.Path()] = imported
	}
	return out
}

// Type returns a type by its package and name, or nil.
func (o *Outlines) Type(path, name string) *types.TypeName {
	pkg := o.byPath[path]
	if pkg == nil {
		return nil
	}
	found, _ := pkg.Scope().Lookup(name).(*types.TypeName)
	return found
}

// Position returns where a type is declared.
func (o *Outlines) Position(obj types.Object) token.Position {
	return o.fset.PositionFor(obj.Pos(), false)
}
