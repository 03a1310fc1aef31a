package typeutil

import "go/types"

// Unify reports whether two types have the same structure. It compares declared types
// by package path and name, so that the types may come from different loads. For each
// pair with a type parameter it calls param, whose answer decides.
func Unify(x, y types.Type, param func(x, y types.Type) bool) bool {
	return unifier{param}.unify(x, y)
}

type unifier struct{ param func(x, y types.Type) bool }

func (u unifier) unify(x, y types.Type) bool {
	x, y = types.Unalias(x), types.Unalias(y)
	if isTypeParam(x) || isTypeParam(y) {
		return u.param(x, y)
	}
	switch x := x.(type) {
	case *types.Basic:
		y, ok := y.(*types.Basic)
		return ok && x.Kind() == y.Kind()
	case *types.Named:
		y, ok := y.(*types.Named)
		return ok && sameName(x.Obj(), y.Obj()) && unifyAll(u, x.TypeArgs(), y.TypeArgs(), (*types.TypeList).At)
	case *types.Pointer:
		y, ok := y.(*types.Pointer)
		return ok && u.unify(x.Elem(), y.Elem())
	case *types.Slice:
		y, ok := y.(*types.Slice)
		return ok && u.unify(x.Elem(), y.Elem())
	case *types.Array:
		y, ok := y.(*types.Array)
		return ok && x.Len() == y.Len() && u.unify(x.Elem(), y.Elem())
	case *types.Map:
		y, ok := y.(*types.Map)
		return ok && u.unify(x.Key(), y.Key()) && u.unify(x.Elem(), y.Elem())
	case *types.Chan:
		y, ok := y.(*types.Chan)
		return ok && x.Dir() == y.Dir() && u.unify(x.Elem(), y.Elem())
	case *types.Signature:
		y, ok := y.(*types.Signature)
		return ok && x.Variadic() == y.Variadic() &&
			unifyAll(u, x.Params(), y.Params(), typeAt) && unifyAll(u, x.Results(), y.Results(), typeAt)
	case *types.Struct:
		y, ok := y.(*types.Struct)
		return ok && u.unifyFields(x, y)
	case *types.Interface:
		y, ok := y.(*types.Interface)
		return ok && u.unifyMethods(x, y)
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

// unifyAll compares two lists, which are nil if they are empty.
func unifyAll[L interface{ Len() int }](u unifier, x, y L, at func(L, int) types.Type) bool {
	if x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		if !u.unify(at(x, i), at(y, i)) {
			return false
		}
	}
	return true
}

func (u unifier) unifyFields(x, y *types.Struct) bool {
	if x.NumFields() != y.NumFields() {
		return false
	}
	for i := range x.NumFields() {
		f, g := x.Field(i), y.Field(i)
		if f.Id() != g.Id() || f.Embedded() != g.Embedded() || x.Tag(i) != y.Tag(i) || !u.unify(f.Type(), g.Type()) {
			return false
		}
	}
	return true
}

func (u unifier) unifyMethods(x, y *types.Interface) bool {
	if x.NumMethods() != y.NumMethods() {
		return false
	}
	for i := range x.NumMethods() { // sorted by Id
		f, g := x.Method(i), y.Method(i)
		if f.Id() != g.Id() || !u.unify(f.Signature(), g.Signature()) {
			return false
		}
	}
	return true
}
