package main

import (
	"context"
	"fmt"
	"go/types"
)

// target is the symbol whose uses are looked for.
type target struct {
	object   types.Object
	key      key
	position string
	symbol   *symbol // nil for what a test file declares
}

// search finds what a call is about, and the program to look for its uses in.
func (w *workspace) search(ctx context.Context, name, pkg string) (*program, *target, error) {
	v, s, err := w.subject(ctx, name, pkg)
	if v == nil {
		return nil, nil, err
	}
	if err != nil {
		return v.searchTests(ctx, name, pkg, err)
	}
	_, position, err := v.locate(ctx, s.unit, s.object)
	if err != nil {
		return nil, nil, err
	}
	p, err := v.program(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names keys
	return p, &target{object: s.object, key: names.of(s.object), position: position, symbol: s}, nil
}

// searchTests looks in test files for what is nowhere else, which missing says.
func (v *view) searchTests(ctx context.Context, name, pkg string, missing error) (*program, *target, error) {
	ways, err := readings(name)
	if err != nil || v.home == "" || ctx.Err() != nil {
		return nil, nil, missing
	}
	p, err := v.program(ctx)
	if err != nil {
		return nil, nil, missing
	}
	var found []*target
	for _, x := range p.indexes {
		for _, r := range ways {
			if pkg != "" && !v.called(x, pkg) || r.pkg != "" && !v.called(x, r.pkg) {
				continue
			}
			if t := v.inTests(x, r); t != nil {
				found = append(found, t)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, missing
	case 1:
		return p, found[0], nil
	}
	var candidates []string
	for _, t := range found {
		candidates = append(candidates, string(t.key))
	}
	return nil, nil, ambiguous("symbol", name, candidates)
}

// called reports whether a hint means the package of an index.
func (v *view) called(x *index, hint string) bool {
	if isDir(hint) && len(x.files) > 0 {
		n := node{dir: dirOf(x.files[0])}
		rel, ok := v.relative(n.dir)
		return ok && "./"+rel == hint
	}
	n := node{path: x.path, name: x.pkg.Name()}
	return n.called(hint)
}

// inTests finds what a test file declares.
func (v *view) inTests(x *index, r reading) *target {
	obj := x.pkg.Scope().Lookup(r.name)
	if obj == nil {
		return nil
	}
	if r.member != "" {
		if obj, _, _ = types.LookupFieldOrMethod(obj.Type(), true, x.pkg, r.member); obj == nil {
			return nil
		}
	}
	var names keys
	k := names.of(obj)
	at, ok := x.tests[k]
	if !ok {
		return nil
	}
	return &target{object: obj, key: k, position: v.position(at, x.path)}
}

// mustBeFunction refuses what cannot be called by its name.
func (t *target) mustBeFunction() error {
	switch t.object.(type) {
	case *types.Func, *types.Builtin:
		return nil
	}
	if t.symbol != nil {
		return t.symbol.notA("function")
	}
	return fmt.Errorf("%s is a %s, not a function; who_references lists its uses", t.key, kind(t.object))
}
