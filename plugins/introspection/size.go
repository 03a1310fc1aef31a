package main

import (
	"go/types"
)

// layout is a type's size and alignment in bytes on the platform that the
// package was loaded for. A type whose size hangs on type arguments, or that
// does not compile, has none.
func layout(t types.Type, sizes types.Sizes) (size, align int64, ok bool) {
	if sizes == nil || !sized(t, nil) {
		return 0, 0, false
	}
	size, align = sizes.Sizeof(t), sizes.Alignof(t)
	return size, align, size >= 0 // a negative size has overflowed
}

// sized reports whether all that lies within a value of type t has a size.
// What a pointer of any kind leads to does not count. The path has the types
// that t lies within, as broken code may have a type within itself.
func sized(t types.Type, path []types.Type) bool {
	t = types.Unalias(t)
	if _, ok := t.(*types.TypeParam); ok {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.Invalid && u.Info()&types.IsUntyped == 0
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return true
	case *types.Interface:
		return u.IsMethodSet() // else it is a constraint, which has no values
	case *types.Array:
		return u.Len() >= 0 && sized(u.Elem(), path)
	case *types.Struct:
		for _, outer := range path {
			if outer == t {
				return false
			}
		}
		path = append(path, t)
		for f := range u.Fields() {
			if !sized(f.Type(), path) {
				return false
			}
		}
		return true
	}
	return false
}
