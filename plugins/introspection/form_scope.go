package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// formScope is where a form stands: within a package, whose names and imports
// it sees, or in none. Packages that nothing imports are there too, as far as
// the form names them.
type formScope struct {
	unit    *unit // nil: in no package
	pkg     *types.Package
	file    *types.Scope
	imports map[string]*types.Package // what the form can name, by name
}

// scope finds out where a form stands and what it sees there. An empty hint
// means: the one package of the workspace that has all names of the form, or
// none where the form names packages alone.
func (v *view) scope(ctx context.Context, f *form, hint string) (*formScope, error) {
	n, err := v.formHome(ctx, f, hint)
	if err != nil {
		return nil, err
	}
	var u *unit
	if n != nil {
		if len(n.files) == 0 {
			return nil, errors.New(v.noFiles(n))
		}
		if u, err = v.unit(ctx, n); err != nil {
			return nil, err
		}
	}
	extra, err := v.unimported(ctx, f, u)
	if err != nil {
		return nil, err
	}
	s := &formScope{unit: u, imports: map[string]*types.Package{}}
	var more map[string]*types.Package
	if s.unit, more, err = v.with(ctx, n, u, extra); err != nil {
		return nil, err
	}
	s.pkg = types.NewPackage("form", "form")
	if s.unit != nil {
		err = s.adopt(f)
	}
	for name, p := range more {
		s.imports[name] = p
	}
	return s, err
}

// adopt makes a package that has all that the unit's has. Checking a form in
// the unit's own package would change it, and others may be reading it.
func (s *formScope) adopt(f *form) error {
	s.pkg = types.NewPackage(s.unit.Types.Path(), s.unit.Types.Name())
	scope := s.unit.Types.Scope()
	for _, name := range scope.Names() {
		s.pkg.Scope().Insert(scope.Lookup(name))
	}
	imported := s.unit.imported()
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

// imported are the packages that a unit's files import, by name. Files may
// import different packages under one name.
func (u *unit) imported() map[string][]*types.Package {
	out := map[string][]*types.Package{}
	for _, file := range u.Syntax {
		for _, spec := range file.Imports {
			name := u.TypesInfo.PkgNameOf(spec)
			if name != nil && name.Name() != "_" && !slices.Contains(out[name.Name()], name.Imported()) {
				out[name.Name()] = append(out[name.Name()], name.Imported())
			}
		}
	}
	return out
}

// choose is the package that a form means by a name: the one that has all that
// the form selects from it.
func (f *form) choose(name string, candidates []*types.Package) (*types.Package, error) {
	i := slices.IndexFunc(f.free, func(n free) bool { return n.name == name })
	if len(candidates) == 1 || i < 0 {
		return candidates[0], nil
	}
	var fit, known []string
	var found *types.Package
	for _, p := range candidates {
		known = append(known, p.Path())
		if !slices.ContainsFunc(f.free[i].selected, func(sel string) bool { return p.Scope().Lookup(sel) == nil }) {
			fit, found = append(fit, p.Path()), p
		}
	}
	switch len(fit) {
	case 1:
		return found, nil
	case 0:
		fit = known
	}
	return nil, ambiguous("package", name, fit)
}

// open puts a form into the scope.
func (s *formScope) open(f *form) {
	from := f.fset.File(f.expr.Pos())
	s.file = types.NewScope(s.pkg.Scope(), token.Pos(from.Base()), token.Pos(from.Base()+from.Size()+1), "form")
	for name, p := range s.imports {
		s.file.Insert(types.NewPkgName(token.NoPos, s.pkg, name, p))
	}
}

// formHome is the package that a form stands in; nil: in none.
func (v *view) formHome(ctx context.Context, f *form, hint string) (*node, error) {
	if hint != "" {
		return v.pkg(ctx, hint)
	}
	var wanted []string
	for _, name := range f.free {
		found, err := v.packagesNamed(ctx, name)
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
	homes := v.graph.sorted(func(n *node) bool {
		return n.own && !slices.ContainsFunc(wanted, func(name string) bool { return !v.declares(n, name) })
	})
	switch len(homes) {
	case 1:
		return homes[0], nil
	case 0:
		return nil, fmt.Errorf("no package of the workspace has %s; name the package that the form stands in%s",
			strings.Join(wanted, ", "), didYouMean(nearest(wanted[0], v.ownNames())))
	}
	return nil, ambiguous("the package of", strings.Join(wanted, ", "), paths(homes))
}

// packagesNamed are the packages that a free name can mean, of the nearest tier
// that has any: those that are called so and have all that is selected.
func (v *view) packagesNamed(ctx context.Context, name free) ([]*node, error) {
	if name.selected == nil {
		return nil, nil
	}
	for _, tier := range []int{tierOwn, tierPublic} {
		found, err := v.find(ctx, name.name, tier)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(n *node) bool {
			return n.name != name.name || slices.ContainsFunc(name.selected, func(sel string) bool { return !v.declares(n, sel) })
		})
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// unimported are the packages that a form names without the unit importing
// them, by name.
func (v *view) unimported(ctx context.Context, f *form, u *unit) (map[string]*node, error) {
	seen := u.visible()
	out := map[string]*node{}
	for _, name := range f.free {
		if seen[name.name] {
			continue
		}
		found, err := v.packagesNamed(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 1:
			out[name.name] = found[0]
		case len(found) > 1:
			return nil, ambiguous("package", name.name, paths(found))
		}
	}
	return out, nil
}

// visible are the names that a package's code can use but for those of the
// language; of no package, none.
func (u *unit) visible() map[string]bool {
	out := map[string]bool{}
	if u == nil {
		return out
	}
	names := u.Types.Scope().Names()
	for name, candidates := range u.imported() {
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

// with loads packages together with a unit, so that their types fit, and gives
// them by name.
func (v *view) with(ctx context.Context, n *node, u *unit, extra map[string]*node) (*unit, map[string]*types.Package, error) {
	if len(extra) == 0 {
		return u, nil, nil
	}
	mode, patterns := unitMode, []string{}
	if n == nil {
		mode &^= packages.NeedSyntax | packages.NeedTypesInfo // export data will do
	} else {
		patterns = append(patterns, n.pattern)
	}
	for _, name := range sortedKeys(extra) {
		patterns = append(patterns, extra[name].pattern)
	}
	loaded, err := v.run(ctx, mode, patterns...)
	if err != nil {
		return nil, nil, err
	}
	more := map[string]*types.Package{}
	for _, p := range loaded {
		if n != nil && p.PkgPath == n.path {
			u = &unit{Package: p, node: n, errors: v.faults(p)}
		}
		for name, e := range extra {
			if p.PkgPath == e.path && p.Types != nil {
				more[name] = p.Types
			}
		}
	}
	return u, more, nil
}
