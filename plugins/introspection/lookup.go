package main

import (
	"context"
	"fmt"
	"go/types"
	"strings"
)

// symbol is something declared in a package, with what it was found by.
type symbol struct {
	unit   *unit
	object types.Object // what was asked for: the member, where there is one
	// What the member was looked up in, and the way through embedded fields;
	// nil for what is declared at package level.
	owner *types.TypeName
	index []int
}

// name is how the symbol is called in its package.
func (s *symbol) name() string {
	if s.owner != nil {
		return s.owner.Name() + "." + s.object.Name()
	}
	return s.object.Name()
}

// subject finds what a call is about. What is refused is refused before anything is
// looked at.
func (w *workspace) subject(ctx context.Context, name, pkg string) (*view, *symbol, error) {
	ways, err := readings(name)
	if err == nil {
		err = denied(pkg)
	}
	if err != nil {
		return nil, nil, err
	}
	v, err := w.view(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, err := v.symbol(ctx, name, ways, pkg)
	return v, s, err
}

// notA says that a symbol is not what a tool is about.
func (s *symbol) notA(wanted string) error {
	is := kind(s.object)
	switch obj := s.object.(type) {
	case *types.Builtin:
		is = "built into the compiler"
	case *types.TypeName:
		is = article(typeKind(obj.Type())) + " type"
	default:
		is = fmt.Sprintf("a %s of type %s", is, printer{s.unit.Types}.typ(obj.Type()))
	}
	return fmt.Errorf("%s.%s is %s, not a %s%s; describe_symbol tells more of it",
		s.unit.PkgPath, s.name(), is, wanted, s.unit.trouble())
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// symbol finds what a caller named. An empty pkg means: the package that the
// symbol names, or else all packages of the workspace.
//
// # Errors
//
// A plain error, with the nearest names, for what is not there or is there
// twice. What [denied] refuses must not come here.
func (v *view) symbol(ctx context.Context, name string, ways []reading, pkg string) (*symbol, error) {
	if pkg != "" {
		return v.symbolIn(ctx, ways, pkg)
	}
	for tier := range tierCount {
		found, err := v.symbolsAt(ctx, ways, tier)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, ambiguous("symbol", name, qualified(found))
		}
	}
	return nil, v.noSymbol(ctx, name, ways)
}

func qualified(found []*symbol) []string {
	var out []string
	for _, s := range found {
		out = append(out, s.unit.node.path+"."+s.name())
	}
	return out
}

// symbolIn finds a symbol in the one package that the caller named.
func (v *view) symbolIn(ctx context.Context, ways []reading, pkg string) (*symbol, error) {
	n, err := v.pkg(ctx, pkg)
	if err != nil {
		return nil, err
	}
	for _, r := range ways {
		if r.pkg != "" && !n.called(r.pkg) {
			continue
		}
		if s, err := v.lookup(ctx, n, r); s != nil || err != nil {
			return s, err
		}
	}
	return nil, v.notIn(ctx, n, ways)
}

// symbolsAt are all symbols that any reading finds in one tier.
func (v *view) symbolsAt(ctx context.Context, ways []reading, tier int) ([]*symbol, error) {
	var out []*symbol
	for _, r := range ways {
		nodes, err := v.candidates(ctx, r, tier)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			s, err := v.lookup(ctx, n, r)
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

// candidates are the packages of one tier that a reading may be about.
func (v *view) candidates(ctx context.Context, r reading, tier int) ([]*node, error) {
	if r.pkg != "" {
		return v.find(ctx, r.pkg, tier)
	}
	if tier != tierOwn {
		return nil, nil
	}
	return v.graph.sorted(func(n *node) bool { return n.own }), nil
}

// lookup finds what a reading names in a package; nil: it is not there. The
// package is loaded only if it declares the name.
func (v *view) lookup(ctx context.Context, n *node, r reading) (*symbol, error) {
	if !v.declares(n, r.name) {
		return nil, nil
	}
	u, err := v.unit(ctx, n)
	if err != nil {
		return nil, err
	}
	obj := u.Types.Scope().Lookup(r.name)
	if obj == nil {
		return nil, nil
	}
	if r.member == "" {
		return &symbol{unit: u, object: obj}, nil
	}
	owner, ok := obj.(*types.TypeName)
	if !ok {
		return nil, nil
	}
	member, index, _ := types.LookupFieldOrMethod(owner.Type(), true, u.Types, r.member)
	if member == nil {
		return nil, nil
	}
	return &symbol{unit: u, object: member, owner: owner, index: index}, nil
}
