package xref

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Program has the indexes of all packages of a workspace, with their tests.
type Program struct {
	Indexes []*Index // by import path
}

// Reference is a use of a symbol.
type Reference struct {
	Position token.Position
	Access   Access
	Package  string // import path of the package that the use is in
	Function string // the function that it is in, as pkg.F or pkg.T.M; empty at package level
	Via      Key    // the method of an interface that is named instead; empty: the symbol itself
}

func (x *Index) reference(u use) Reference {
	r := Reference{
		Position: token.Position{Filename: x.files[u.file], Line: int(u.line), Column: int(u.column)},
		Access:   u.access, Package: x.Path(),
	}
	if u.function != "" {
		r.Function = x.Types.Name() + "." + u.function
	}
	return r
}

// References returns the uses that name a symbol, sorted by position.
func (p *Program) References(k Key) []Reference {
	var out []Reference
	for _, x := range p.Indexes {
		for _, u := range x.uses[k] {
			out = append(out, x.reference(u))
		}
	}
	return sorted(out)
}

// Calls returns the uses of a function, by its name or through an interface, sorted
// by position. Those whose Access is not a call use the function as a value.
func (p *Program) Calls(obj types.Object, k Key) []Reference {
	found := p.References(k)
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return found
	}
	if types.IsInterface(fn.Signature().Recv().Type()) {
		for i := range found {
			found[i].Via = k
		}
		return found
	}
	return sorted(append(found, p.dynamic(fn, k)...))
}

// sorted sorts references by position, and drops all but one at each position.
func sorted(list []Reference) []Reference {
	slices.SortFunc(list, func(a, b Reference) int {
		return cmp.Or(strings.Compare(a.Position.Filename, b.Position.Filename),
			cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return slices.CompactFunc(list, func(a, b Reference) bool { return a.Position == b.Position })
}

// dynamic returns the uses of interfaces' methods that may reach a method: those of
// each interface that a type with the method, declared or promoted, satisfies.
//
// This is class hierarchy analysis as golang.org/x/tools/go/callgraph/cha does it, on
// the types alone. It does not follow which types a program stores in an interface,
// so some of these uses may never reach the method. It misses only uses by
// reflection.
func (p *Program) dynamic(fn *types.Func, k Key) []Reference {
	var out []Reference
	candidates := p.implementers(fn, k)
	for _, x := range p.Indexes {
		reached := map[types.Type]bool{}
		for _, u := range x.dynamic[fn.Name()] {
			yes, known := reached[u.on]
			if !known {
				yes = slices.ContainsFunc(candidates, func(c methodSet) bool { return c.satisfies(u.on) })
				reached[u.on] = yes
			}
			if yes {
				r := x.reference(u.use)
				r.Via = x.methodKey(u)
				out = append(out, r)
			}
		}
	}
	return out
}

// methodKey identifies the method of an interface that is used.
func (x *Index) methodKey(u dynamicUse) Key {
	if u.key != "" && !u.key.Placed() {
		return u.key
	}
	return Key(typeutil.Printer{Pkg: x.Types}.Type(u.on) + "." + u.method.Name())
}

// methodSet has the methods of a type, by their IDs.
type methodSet map[string]*types.Func

func newMethodSet(t types.Type) methodSet {
	out := methodSet{}
	set := typeutil.MethodSet(t)
	for i := range set.Len() {
		if fn, ok := set.At(i).Obj().(*types.Func); ok {
			out[fn.Id()] = fn
		}
	}
	return out
}

// implementers returns the types of the workspace that have a method, and the type
// that declares it.
func (p *Program) implementers(fn *types.Func, k Key) []methodSet {
	out := []methodSet{newMethodSet(fn.Signature().Recv().Type())}
	var keys Keys
	for _, x := range p.Indexes {
		for _, t := range x.implementers[fn.Name()] {
			obj, _, _ := types.LookupFieldOrMethod(t, true, fn.Pkg(), fn.Name())
			if m, ok := obj.(*types.Func); ok && !types.IsInterface(m.Signature().Recv().Type()) && keys.Of(m) == k {
				out = append(out, newMethodSet(t))
			}
		}
	}
	return out
}

// satisfies reports whether a value of the type, or a pointer to it, may be in an
// interface. It considers methods only, not the types that a constraint lists.
func (m methodSet) satisfies(t types.Type) bool {
	in, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for want := range in.Methods() {
		have := m[want.Id()]
		if have == nil || !typeutil.Unify(have.Signature(), want.Signature(), anyArgument) {
			return false
		}
	}
	return true
}

// anyArgument lets a type parameter stand for any type.
func anyArgument(types.Type, types.Type) bool { return true }
