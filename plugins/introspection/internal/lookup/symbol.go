package lookup

import (
	"context"
	"fmt"
	"go/types"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Symbol is something that a package declares.
type Symbol struct {
	Package *check.Package
	Object  types.Object // the member, if the caller named one

	// Of is the type that the member was looked up in, and Index the path to it through
	// embedded fields. They are nil for what is declared at package level, and for what a
	// function declares.
	Of    types.Type
	Index []int

	name string
}

// IsLocal reports whether a function declares the symbol.
func (s *Symbol) IsLocal() bool { return s.Of == nil && strings.Contains(s.name, ".") }

// Name returns the symbol's name in its package.
func (s *Symbol) Name() string { return s.name }

// NotA returns the error for a symbol that is not what a tool answers questions about.
func (s *Symbol) NotA(wanted string) error {
	is := typeutil.Kind(s.Object)
	switch obj := s.Object.(type) {
	case *types.Builtin:
		is = "built into the compiler"
	case *types.TypeName:
		is = article(typeutil.TypeKind(obj.Type())) + " type"
	default:
		is = fmt.Sprintf("a %s of type %s", is, typeutil.Printer{Pkg: s.Package.Types}.Type(obj.Type()))
	}
	return fmt.Errorf("%s.%s is %s, not a %s%s; describe_symbol tells more of it",
		s.Package.Node.Path, s.Name(), is, wanted, s.Package.FirstError())
}

func isCallable(obj types.Object) bool {
	switch obj.(type) {
	case *types.Func, *types.Builtin:
		return true
	}
	return false
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Find returns the symbol that a caller names. An empty pkg means the package in the
// name, or else all packages of the workspace. It refuses packages that must not be
// loaded before it looks at anything; the Finder is zero then.
//
// # Errors
//
// permission_denied for such a package; a plain error, with the nearest names, for
// what does not exist or is ambiguous.
func Find(ctx context.Context, w *check.Workspace, name, pkg string) (Finder, *Symbol, error) {
	ways, err := parseName(name)
	if err == nil {
		err = gocode.CheckPackage(pkg)
	}
	if err != nil {
		return Finder{}, nil, err
	}
	snapshot, err := w.Snapshot(ctx, pkg)
	if err != nil {
		return Finder{}, nil, err
	}
	f := Finder{snapshot}
	s, err := f.symbol(ctx, name, ways, pkg)
	return f, s, err
}

func (f Finder) symbol(ctx context.Context, name string, ways []parsed, pkg string) (*Symbol, error) {
	if pkg != "" {
		return f.symbolIn(ctx, ways, pkg)
	}
	found, err := inTiers(func(t tier) ([]*Symbol, error) { return f.symbolsInTier(ctx, ways, t) })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, f.noSymbol(ctx, name, ways)
	case len(found) > 1:
		var candidates []string
		for _, s := range found {
			candidates = append(candidates, s.Package.Node.Path+"."+s.Name())
		}
		return nil, Ambiguous("symbol", name, candidates)
	}
	return found[0], nil
}

// symbolIn finds a symbol in the one package that the caller names.
func (f Finder) symbolIn(ctx context.Context, ways []parsed, pkg string) (*Symbol, error) {
	n, err := f.Package(ctx, pkg)
	if err != nil {
		return nil, err
	}
	for _, in := range append([]*check.Node{n}, f.Snapshot.Graph.TestsOf(n.Path)...) {
		for _, p := range ways {
			if p.pkg != "" && !n.Named(p.pkg) && !in.Named(p.pkg) {
				continue
			}
			if s, err := f.inPackage(ctx, in, p); s != nil || err != nil {
				return s, err
			}
		}
	}
	return nil, f.notIn(ctx, n, ways)
}

// symbolsInTier returns all symbols that a name, parsed in any way, means in one tier.
func (f Finder) symbolsInTier(ctx context.Context, ways []parsed, t tier) ([]*Symbol, error) {
	var out []*Symbol
	for _, p := range ways {
		nodes, err := f.candidates(ctx, p, t)
		if err == nil {
			err = f.Snapshot.Parse(ctx, nodes)
		}
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			s, err := f.inPackage(ctx, n, p)
			if err != nil {
				return nil, err
			}
			if s != nil {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// candidates returns the packages of one tier that a name may be about.
func (f Finder) candidates(ctx context.Context, p parsed, t tier) ([]*check.Node, error) {
	if p.pkg != "" {
		return f.inTier(ctx, p.pkg, t)
	}
	switch t {
	case tierOwn:
		return f.Snapshot.Graph.Select(func(n *check.Node) bool { return n.Own }), nil
	case tierTests:
		return f.Snapshot.Graph.Tests, nil
	}
	return nil, nil
}

// inPackage finds a symbol in a package, or nil. It loads the package only if that
// declares the name.
func (f Finder) inPackage(ctx context.Context, n *check.Node, p parsed) (*Symbol, error) {
	if !f.Snapshot.Declares(n, p.name) {
		return nil, nil
	}
	pkg, err := f.Snapshot.Package(ctx, n)
	if err != nil {
		return nil, err
	}
	s, rest := follow(pkg, p)
	if len(rest) > 0 {
		return nil, nil
	}
	return s, nil
}
