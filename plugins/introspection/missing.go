package main

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"maps"
	"slices"
)

// noSymbol says why nothing was found anywhere, and which names are near.
func (v *view) noSymbol(ctx context.Context, name string, ways []reading) error {
	last := ways[len(ways)-1]
	for _, r := range ways {
		n, err := v.nearestHome(ctx, r)
		if err != nil {
			return err
		}
		if n != nil {
			return v.notIn(ctx, n, ways)
		}
	}
	if last.pkg != "" {
		return v.noPackage(ctx, last.pkg)
	}
	if types.Universe.Lookup(last.name) != nil && len(ways) == 1 {
		return fmt.Errorf("%s is predeclared by the language, not by a package; see https://go.dev/ref/spec#Predeclared_identifiers", name)
	}
	if v.home == "" && ways[0].pkg == "" {
		return errNoModule
	}
	near := nearest(last.symbol(), v.ownNames())
	if v.home == "" || len(near) == 0 && ways[0].pkg != "" {
		return v.noPackage(ctx, ways[0].pkg)
	}
	return fmt.Errorf("there is no symbol %q in the workspace%s", name, didYouMean(near))
}

// nearestHome is a package that a reading is about though it does not have the
// symbol: the package that it names, or one of the workspace that has the type.
func (v *view) nearestHome(ctx context.Context, r reading) (*node, error) {
	for tier := range tierCount {
		found, err := v.candidates(ctx, r, tier)
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			if r.pkg != "" || v.declares(n, r.name) {
				return n, nil
			}
		}
	}
	return nil, nil
}

// ownNames are all names of the workspace, with their packages' names.
func (v *view) ownNames() []string {
	names := map[string]bool{}
	for _, n := range v.graph.nodes {
		if !n.own {
			continue
		}
		for _, d := range v.names(n) {
			names[n.name+"."+d.String()] = true
		}
	}
	return slices.Collect(maps.Keys(names))
}

// notIn says that a package does not have a symbol, and which names are near:
// the type's members, where the type is there.
func (v *view) notIn(ctx context.Context, n *node, ways []reading) error {
	if len(n.files) == 0 {
		return errors.New(v.noFiles(n))
	}
	u, err := v.unit(ctx, n)
	if err != nil {
		return err
	}
	ways = about(n, ways)
	for _, r := range ways {
		if owner, ok := u.Types.Scope().Lookup(r.name).(*types.TypeName); ok && r.member != "" {
			return u.noMember(owner, r)
		}
	}
	wanted := ways[0].symbol()
	var names []string
	for _, d := range v.names(n) {
		names = append(names, d.String())
	}
	return fmt.Errorf("package %s has no symbol %q%s%s", n.path, wanted, u.trouble(), didYouMean(nearest(wanted, names)))
}

// noMember says why a type does not have a method or field.
func (u *unit) noMember(owner *types.TypeName, r reading) error {
	name := u.node.path + "." + r.name
	// An index without an object means that the name is there too often.
	if _, index, _ := types.LookupFieldOrMethod(owner.Type(), true, u.Types, r.member); len(index) > 0 {
		return fmt.Errorf("%s.%s cannot be selected: several embedded fields have a %q at the same depth; name one of their types",
			name, r.member, r.member)
	}
	return fmt.Errorf("type %s has no method or field %q%s%s", name, r.member, u.trouble(),
		didYouMean(nearest(r.member, memberNames(owner, u.Types))))
}

// about are the readings that fit a package: those that name it, else those
// that name none.
func about(n *node, ways []reading) []reading {
	var naming, bare []reading
	for _, r := range ways {
		switch {
		case r.pkg == "":
			bare = append(bare, r)
		case n.called(r.pkg) || isDir(r.pkg):
			naming = append(naming, r)
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

// noFiles explains a package without Go files for this platform.
func (v *view) noFiles(n *node) string {
	msg := fmt.Sprintf("package %s has no Go files that belong to it on this platform", n.path)
	if len(n.trouble) > 0 {
		msg += ": " + v.scrub(n.trouble[0].Msg)
	}
	return msg
}
