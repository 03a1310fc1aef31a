package xref

import "go/types"

// alike reports whether two types from different loads are identical, or can become
// so once type parameters have arguments.
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

// allAlike compares two lists, which are nil if they are empty.
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
