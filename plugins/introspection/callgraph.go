package main

import (
	"go/types"
	"slices"
)

// finding is a use of a symbol, in the package whose index has it.
type finding struct {
	use
	index *index
	via   string // the interface's method that is named instead; empty: the symbol itself
}

// static are the uses that name a symbol itself.
func (p *program) static(k key) []finding {
	var out []finding
	for _, x := range p.indexes {
		for _, u := range x.uses[k] {
			out = append(out, finding{use: u, index: x})
		}
	}
	return out
}

// dynamic are the uses of interfaces' methods that may reach a method: the
// interface is one that a type with the method, its own or promoted, satisfies.
//
// This is class hierarchy analysis as golang.org/x/tools/go/callgraph/cha does
// it, on the types alone. Which types a program really stores in an interface is
// not followed, so some of these uses may never reach the method; none that can
// reach it is missing but what reflection does.
func (p *program) dynamic(fn *types.Func, k key) []finding {
	recv := fn.Signature().Recv()
	if recv == nil || types.IsInterface(recv.Type()) {
		return nil
	}
	var out []finding
	carriers := p.carriers(fn, k)
	for _, x := range p.indexes {
		reached := map[types.Type]bool{}
		for _, u := range x.dynamic[fn.Name()] {
			yes, known := reached[u.on]
			if !known {
				yes = slices.ContainsFunc(carriers, func(c carrier) bool { return c.satisfies(u.on) })
				reached[u.on] = yes
			}
			if yes {
				out = append(out, finding{use: u.use, index: x, via: x.interfaceMethod(u)})
			}
		}
	}
	return out
}

// carrier is a type by its methods.
type carrier map[string]*types.Func

// carriers are the types of the workspace that have a method, and the one that
// declares it.
func (p *program) carriers(fn *types.Func, k key) []carrier {
	out := []carrier{newCarrier(fn.Signature().Recv().Type())}
	var names keys
	for _, x := range p.indexes {
		for _, t := range x.carriers[fn.Name()] {
			obj, _, _ := types.LookupFieldOrMethod(t, true, fn.Pkg(), fn.Name())
			if obj != nil && names.of(obj) == k {
				out = append(out, newCarrier(t))
			}
		}
	}
	return out
}

func newCarrier(t types.Type) carrier {
	out := carrier{}
	set := methodsOf(t)
	for i := range set.Len() {
		if fn, ok := set.At(i).Obj().(*types.Func); ok {
			out[fn.Id()] = fn
		}
	}
	return out
}

// satisfies reports whether a value of the type, or a pointer to it, may be in
// an interface. Only methods count, not which types a constraint lists.
func (c carrier) satisfies(t types.Type) bool {
	in, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for want := range in.Methods() {
		have := c[want.Id()]
		if have == nil || !alike(have.Signature(), want.Signature()) {
			return false
		}
	}
	return true
}

// interfaceMethod names the method that is used.
func (x *index) interfaceMethod(u dynamicUse) string {
	var names keys
	if k := names.of(u.method); k != "" {
		return string(k)
	}
	return printer{x.pkg}.typ(u.on) + "." + u.method.Name()
}

// alike reports whether two types from different loads are identical, or can
// become so once type arguments stand for type parameters.
func alike(x, y types.Type) bool {
	x, y = types.Unalias(x), types.Unalias(y)
	if isTypeParam(x) || isTypeParam(y) {
		return true
	}
	switch x := x.(type) {
	case *types.Basic:
		y, ok := y.(*types.Basic)
		return ok && x.Kind() == y.Kind()
	case *types.Named:
		y, ok := y.(*types.Named)
		return ok && sameName(x.Obj(), y.Obj()) && allAlike(x.TypeArgs(), y.TypeArgs(), (*types.TypeList).At)
	case *types.Pointer:
		y, ok := y.(*types.Pointer)
		return ok && alike(x.Elem(), y.Elem())
	case *types.Slice:
		y, ok := y.(*types.Slice)
		return ok && alike(x.Elem(), y.Elem())
	case *types.Array:
		y, ok := y.(*types.Array)
		return ok && x.Len() == y.Len() && alike(x.Elem(), y.Elem())
	case *types.Map:
		y, ok := y.(*types.Map)
		return ok && alike(x.Key(), y.Key()) && alike(x.Elem(), y.Elem())
	case *types.Chan:
		y, ok := y.(*types.Chan)
		return ok && x.Dir() == y.Dir() && alike(x.Elem(), y.Elem())
	case *types.Signature:
		y, ok := y.(*types.Signature)
		return ok && x.Variadic() == y.Variadic() &&
			allAlike(x.Params(), y.Params(), typeAt) && allAlike(x.Results(), y.Results(), typeAt)
	case *types.Struct:
		y, ok := y.(*types.Struct)
		return ok && fieldsAlike(x, y)
	case *types.Interface:
		y, ok := y.(*types.Interface)
		return ok && methodsAlike(x, y)
	}
	return false
}

func isTypeParam(t types.Type) bool {
	_, ok := t.(*types.TypeParam)
	return ok
}

func sameName(x, y *types.TypeName) bool {
	if x.Pkg() == nil || y.Pkg() == nil {
		return x.Name() == y.Name() && x.Pkg() == y.Pkg()
	}
	return x.Name() == y.Name() && x.Pkg().Path() == y.Pkg().Path()
}

func typeAt(t *types.Tuple, i int) types.Type { return t.At(i).Type() }

// allAlike compares two lists that are nil where they are empty.
func allAlike[L interface{ Len() int }](x, y L, at func(L, int) types.Type) bool {
	if x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		if !alike(at(x, i), at(y, i)) {
			return false
		}
	}
	return true
}

func fieldsAlike(x, y *types.Struct) bool {
	if x.NumFields() != y.NumFields() {
		return false
	}
	for i := range x.NumFields() {
		f, g := x.Field(i), y.Field(i)
		if f.Id() != g.Id() || f.Embedded() != g.Embedded() || x.Tag(i) != y.Tag(i) || !alike(f.Type(), g.Type()) {
			return false
		}
	}
	return true
}

func methodsAlike(x, y *types.Interface) bool {
	if x.NumMethods() != y.NumMethods() {
		return false
	}
	for i := range x.NumMethods() { // sorted by Id
		f, g := x.Method(i), y.Method(i)
		if f.Id() != g.Id() || !alike(f.Signature(), g.Signature()) {
			return false
		}
	}
	return true
}
