package check

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Package is a package with its types and syntax. Each load has types of its own,
// which must not be compared with those of another Package.
type Package struct {
	Node   *Node
	Types  *types.Package
	Info   *types.Info
	Sizes  types.Sizes
	Fset   *token.FileSet
	Syntax []*ast.File
	Errors []string // what is wrong with it, as file:line:col: message, at most [MaxErrors]

	once         sync.Once
	declarations map[token.Pos]declaration
}

// packageMode is what the go command loads a package with. Dependencies come from
// export data, which the build cache holds; only the package itself is read as source.
const packageMode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
	packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedImports | packages.NeedModule

// MaxErrors bounds the errors that an answer names.
const MaxErrors = 10

// Package loads a package, or returns what was loaded before if nothing that it is
// made of has changed since.
func (s *Snapshot) Package(ctx context.Context, n *Node) (*Package, error) {
	cache, now := &s.workspace.packages, s.packageFingerprint(n)
	key := n.pattern + " " + n.id
	if p := cache.get(key, now); p != nil {
		return p, nil
	}
	return cache.loading.Do(ctx, fmt.Sprintf("%x %s", now, key), func(ctx context.Context) (*Package, error) {
		release, err := cache.acquire(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		p, err := s.load(ctx, n)
		if err == nil {
			cache.put(key, now, p)
		}
		return p, err
	})
}

// load type-checks a local package from source, with what it imports from source. The
// go command loads any other, and those with C, which it has to translate.
func (s *Snapshot) load(ctx context.Context, n *Node) (*Package, error) {
	if s.Graph.variants[n.id] == n && n.source && len(n.Files) > 0 {
		p, err := s.loadSource(ctx, n)
		if p != nil || err != nil {
			return p, err
		}
	}
	config := packages.Config{Mode: packageMode, Tests: n.TestOf != ""}
	pkgs, err := s.workspace.command().loadConfig(ctx, config, []string{n.pattern})
	if err != nil {
		return nil, err
	}
	if config.Tests {
		pkgs = slices.DeleteFunc(pkgs, func(p *packages.Package) bool { return p.ID != n.id })
	}
	if len(pkgs) != 1 || pkgs[0].Types == nil {
		return nil, fmt.Errorf("package %s could not be loaded: the go command gave %d packages for it", n.Path, len(pkgs))
	}
	return s.newPackage(n, pkgs[0]), nil
}

// loadSource returns nil for a package that imports C.
func (s *Snapshot) loadSource(ctx context.Context, n *Node) (*Package, error) {
	b, err := s.newBatch(ctx, s.Graph, "")
	if err != nil {
		return nil, err
	}
	defer b.end()
	c, err := b.check(ctx, n, false)
	if err != nil || c.importsC() {
		return nil, err
	}
	return &Package{
		Node: n, Types: c.pkg, Info: c.info, Sizes: b.graph.sizes, Fset: c.fset, Syntax: c.syntax,
		Errors: b.faults(n, c),
	}, nil
}

func (s *Snapshot) newPackage(n *Node, p *packages.Package) *Package {
	return &Package{
		Node: n, Types: p.Types, Info: p.TypesInfo, Sizes: p.TypesSizes, Fset: p.Fset, Syntax: p.Syntax,
		Errors: faults(s.Root, p.Imports, p.Errors),
	}
}

// LoadTogether loads packages whose types fit each other, by import path. It loads n
// with its syntax, if it is not nil; of others it returns the types.
func (s *Snapshot) LoadTogether(
	ctx context.Context, n *Node, others []*Node,
) (*Package, map[string]*types.Package, error) {
	mode, patterns := packageMode, []string{}
	if n == nil {
		mode &^= packages.NeedSyntax | packages.NeedTypesInfo // export data is enough
	} else {
		patterns = append(patterns, n.pattern)
	}
	for _, other := range others {
		patterns = append(patterns, other.pattern)
	}
	loaded, err := s.workspace.command().load(ctx, mode, patterns...)
	if err != nil {
		return nil, nil, err
	}
	var whole *Package
	byPath := map[string]*types.Package{}
	for _, p := range loaded {
		if n != nil && p.PkgPath == n.Path {
			whole = s.newPackage(n, p)
		}
		if p.Types != nil {
			byPath[p.PkgPath] = p.Types
		}
	}
	return whole, byPath, nil
}

// FirstError returns the first thing that is wrong with the package, to append to an
// error that it may explain. It is empty if nothing is.
func (p *Package) FirstError() string {
	if len(p.Errors) == 0 {
		return ""
	}
	return fmt.Sprintf("; the package does not compile: %s", strings.TrimSuffix(p.Errors[0], "."))
}

// faults formats errors as "file:line:col: message". The go command, the compiler and
// the type checker find the same ones, each in its own words: the first error at a
// position counts, and those without a position only if there are no others. The
// errors of imports without a package come first: the go command knows the reason,
// such as a module that go.mod lacks, and the type checker does not.
func faults(root source.Root, imports map[string]*packages.Package, list []packages.Error) []string {
	var missing []packages.Error
	for _, path := range source.SortedKeys(imports) {
		if imported := imports[path]; !exists(imported) {
			missing = append(missing, imported.Errors...)
		}
	}
	var out, elsewhere []string
	positions := map[string]bool{}
	for _, e := range append(missing, list...) {
		text, position := root.Scrub(e.Msg), root.Scrub(e.Pos)
		switch {
		case position == "" || position == "-":
			elsewhere = append(elsewhere, text)
		case !positions[position]:
			positions[position] = true
			out = append(out, position+": "+text)
		}
	}
	if len(out) == 0 {
		out = elsewhere
	}
	return out[:min(len(out), MaxErrors)]
}
