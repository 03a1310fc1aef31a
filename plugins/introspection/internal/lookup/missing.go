package lookup

import (
	"context"
	"fmt"
	"go/types"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// noSymbol returns the error for a name that was found nowhere, with the nearest names.
func (f Finder) noSymbol(ctx context.Context, name string, ways []parsed) error {
	if files := f.declaredIn(ways); len(files) > 0 {
		return fmt.Errorf("%s is declared only in files that build constraints leave out (%s)%s",
			name, f.short(files), included)
	}
	first, last := ways[0], ways[min(len(ways), 2)-1]
	for _, p := range ways {
		n, err := f.nearestHome(ctx, p)
		if err != nil {
			return err
		}
		if n != nil {
			return f.notIn(ctx, n, ways)
		}
	}
	if last.pkg != "" {
		return f.noPackage(ctx, last.pkg)
	}
	if types.Universe.Lookup(last.name) != nil && len(ways) == 1 {
		return fmt.Errorf("%s is predeclared by the language, not by a package; "+
			"see https://go.dev/ref/spec#Predeclared_identifiers", name)
	}
	if !f.Snapshot.InModule() && first.pkg == "" {
		return f.Snapshot.NoModule()
	}
	near := DidYouMean(last.symbol(), f.OwnNames())
	if !f.Snapshot.InModule() || near == "" && first.pkg != "" {
		return f.noPackage(ctx, first.pkg)
	}
	if others := f.Snapshot.OtherModules(); len(others) > 0 && near == "" {
		near = fmt.Sprintf("; other modules are looked at by their directories, as package ./%s", others[0])
	}
	return fmt.Errorf("there is no symbol %q in the workspace%s", name, near)
}

// nearestHome returns a package that a name is about though the package does not have
// the symbol: the one in the name, or one of the workspace that has the type.
func (f Finder) nearestHome(ctx context.Context, p parsed) (*check.Node, error) {
	found, err := inTiers(func(t tier) ([]*check.Node, error) {
		nodes, err := f.candidates(ctx, p, t)
		for _, n := range nodes {
			if p.pkg != "" || f.Snapshot.Declares(n, p.name) {
				return []*check.Node{n}, err
			}
		}
		return nil, err
	})
	if len(found) == 0 || err != nil {
		return nil, err
	}
	return found[0], nil
}

// notIn returns the error for a symbol that a package does not have, with the nearest
// names: the members of the type, if the package has it.
func (f Finder) notIn(ctx context.Context, n *check.Node, ways []parsed) error {
	if len(n.Files) == 0 {
		return f.noFiles(n)
	}
	pkg, err := f.Snapshot.Package(ctx, n)
	if err != nil {
		return err
	}
	ways = about(n, ways)
	var left []string
	for _, file := range n.LeftOut {
		for _, d := range f.Snapshot.DeclarationsIn(file) {
			if named(d.String(), ways) {
				left = append(left, file)
				break
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("package %s declares %s only in files that build constraints leave out (%s)%s",
			n.Path, ways[0].symbol(), f.short(left), included)
	}
	for _, p := range ways {
		if s, left := follow(pkg, p); s != nil && len(left) > 0 && hasMembers(s.Object) {
			return noMember(s, left[0])
		}
	}
	wanted := ways[0].symbol()
	var names []string
	for d := range f.Snapshot.Declarations(n) {
		names = append(names, d.String())
	}
	return fmt.Errorf("package %s has no symbol %q%s%s", n.Path, wanted, pkg.FirstError(), DidYouMean(wanted, names))
}

func hasMembers(obj types.Object) bool {
	switch obj.(type) {
	case *types.TypeName:
		return true
	case *types.Var:
		return len(typeutil.MemberNames(obj.Type(), obj.Pkg())) > 0
	}
	return false
}

// noMember returns the error for a method or field that a symbol does not have.
func noMember(s *Symbol, member string) error {
	pkg, t := s.Package, s.Object.Type()
	name := pkg.Node.Path + "." + s.Name()
	// An index without an object means that the name is ambiguous.
	if _, index, _ := types.LookupFieldOrMethod(t, true, pkg.Types, member); len(index) > 0 {
		return fmt.Errorf("%s.%s cannot be selected: several embedded fields have a %q at the same depth; "+
			"name one of their types", name, member, member)
	}
	return fmt.Errorf("%s %s has no method or field %q%s%s", typeutil.Kind(s.Object), name, member, pkg.FirstError(),
		DidYouMean(member, typeutil.MemberNames(t, pkg.Types)))
}

// about returns the ways to parse a name that fit a package: those that name it, or
// else those that name none.
func about(n *check.Node, ways []parsed) []parsed {
	var naming, bare []parsed
	for _, p := range ways {
		switch {
		case p.pkg == "":
			bare = append(bare, p)
		case n.Named(p.pkg) || isDir(p.pkg):
			naming = append(naming, p)
		}
	}
	switch {
	case len(naming) > 0:
		return naming
	case len(bare) > 0:
		return bare
	}
	return ways
}
