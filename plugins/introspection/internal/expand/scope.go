package expand

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
)

// Scope is where a form stands: in a package, whose names and imports it sees, or in
// none. It also has the packages that the form names and the package does not import.
type Scope struct {
	Package *check.Package // nil: none

	pkg     *types.Package
	imports map[string]*types.Package // what the form can name, by name
}

// NewScope finds out where a form stands and what it sees there. An empty pkg means
// the one package of the workspace that has all names of the form, or none if the
// form names packages only.
func NewScope(ctx context.Context, finder lookup.Finder, form *Form, pkg string) (*Scope, error) {
	home := homeFinder{finder, form}
	n, err := home.find(ctx, pkg)
	if err != nil {
		return nil, err
	}
	s := &Scope{imports: map[string]*types.Package{}}
	if n != nil {
		if s.Package, err = finder.Snapshot.Package(ctx, n); err != nil {
			return nil, err
		}
	}
	extra, err := home.unimported(ctx, visible(s.Package))
	if err != nil {
		return nil, err
	}
	more, err := s.load(ctx, finder.Snapshot, n, extra)
	if err != nil {
		return nil, err
	}
	s.pkg = types.NewPackage("form", "form")
	if s.Package != nil {
		err = s.adopt(form)
	}
	for name, p := range more {
		s.imports[name] = p
	}
	return s, err
}

// load loads packages that the form names, together with the package that it stands
// in, so that their types fit. It returns them by name.
func (s *Scope) load(
	ctx context.Context, snapshot *check.Snapshot, n *check.Node, extra map[string]*check.Node,
) (map[string]*types.Package, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	var nodes []*check.Node
	for _, name := range source.SortedKeys(extra) {
		nodes = append(nodes, extra[name])
	}
	whole, byPath, err := snapshot.LoadTogether(ctx, n, nodes)
	if err != nil {
		return nil, err
	}
	if whole != nil {
		s.Package = whole
	}
	out := map[string]*types.Package{}
	for name, n := range extra {
		if p := byPath[n.Path]; p != nil {
			out[name] = p
		}
	}
	return out, nil
}

// adopt creates a package that has all that the form's package has. To check the form
// in the original would change it, and other calls may be reading it.
func (s *Scope) adopt(f *Form) error {
	s.pkg = types.NewPackage(s.Package.Types.Path(), s.Package.Types.Name())
	scope := s.Package.Types.Scope()
	for _, name := range scope.Names() {
		s.pkg.Scope().Insert(scope.Lookup(name))
	}
	imported := imports(s.Package)
	for _, p := range imported["."] {
		for _, name := range p.Scope().Names() {
			if token.IsExported(name) {
				s.pkg.Scope().Insert(p.Scope().Lookup(name))
			}
		}
	}
	delete(imported, ".")
	for name, candidates := range imported {
		p, err := f.choose(name, candidates)
		if err != nil {
			return err
		}
		s.imports[name] = p
	}
	return nil
}

// imports returns the packages that a package's files import, by name. Files may
// import different packages under one name.
func imports(p *check.Package) map[string][]*types.Package {
	out := map[string][]*types.Package{}
	for _, file := range p.Syntax {
		for _, spec := range file.Imports {
			name := p.Info.PkgNameOf(spec)
			if name != nil && name.Name() != "_" && !slices.Contains(out[name.Name()], name.Imported()) {
				out[name.Name()] = append(out[name.Name()], name.Imported())
			}
		}
	}
	return out
}

// visible returns the names that a package's code can use, except predeclared ones.
// Without a package there are none.
func visible(p *check.Package) map[string]bool {
	out := map[string]bool{}
	if p == nil {
		return out
	}
	names := p.Types.Scope().Names()
	for name, candidates := range imports(p) {
		names = append(names, name)
		if name == "." {
			for _, p := range candidates {
				names = append(names, p.Scope().Names()...)
			}
		}
	}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// open puts a form in the scope.
func (s *Scope) open(f *Form) {
	from := f.fset.File(f.expr.Pos())
	file := types.NewScope(s.pkg.Scope(), token.Pos(from.Base()), token.Pos(from.Base()+from.Size()+1), "form")
	for name, p := range s.imports {
		file.Insert(types.NewPkgName(token.NoPos, s.pkg, name, p))
	}
}

// firstError returns what is wrong with the form's package, to append to an error.
func (s *Scope) firstError() string {
	if s.Package == nil {
		return ""
	}
	return s.Package.FirstError()
}

// homeFinder finds the packages that a form is about.
type homeFinder struct {
	finder lookup.Finder
	form   *Form
}

// find returns the package that the form stands in, or nil.
func (h homeFinder) find(ctx context.Context, pkg string) (*check.Node, error) {
	if pkg != "" {
		return h.finder.PackageWithFiles(ctx, pkg)
	}
	var wanted []string
	for _, name := range h.form.free {
		found, err := h.called(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			wanted = append(wanted, name.name)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	s := h.finder.Snapshot
	homes := s.Graph.Select(func(n *check.Node) bool {
		return n.Own && !slices.ContainsFunc(wanted, func(name string) bool { return !s.Declares(n, name) })
	})
	switch len(homes) {
	case 1:
		return homes[0], nil
	case 0:
		return nil, fmt.Errorf("no package of the workspace has %s; name the package that the form stands in%s",
			strings.Join(wanted, ", "), lookup.DidYouMean(wanted[0], h.finder.OwnNames()))
	}
	return nil, lookup.Ambiguous("the package of", strings.Join(wanted, ", "), lookup.Paths(homes))
}

// called returns the packages that a free name can mean.
func (h homeFinder) called(ctx context.Context, name freeName) ([]*check.Node, error) {
	if name.selected == nil {
		return nil, nil
	}
	return h.finder.Called(ctx, name.name, name.selected)
}

// unimported returns the packages that the form means by names that are not visible.
func (h homeFinder) unimported(ctx context.Context, visible map[string]bool) (map[string]*check.Node, error) {
	out := map[string]*check.Node{}
	for _, name := range h.form.free {
		if visible[name.name] {
			continue
		}
		found, err := h.called(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 1:
			out[name.name] = found[0]
		case len(found) > 1:
			return nil, lookup.Ambiguous("package", name.name, lookup.Paths(found))
		}
	}
	return out, nil
}
