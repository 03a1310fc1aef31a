package typeutil

import (
	"go/types"
)

// Layout returns a type's size and alignment in bytes. It reports false for a type
// whose size depends on type arguments, or that does not compile.
func Layout(t types.Type, sizes types.Sizes) (size, align int64, ok bool) {
	if sizes == nil || !sized(t, nil) {
		return 0, 0, false
	}
	size, align = sizes.Sizeof(t), sizes.Alignof(t)
	return size, align, size >= 0 // a negative size has overflowed
}

// sized reports whether everything within a value of type t has a size. What a
// pointer of any kind leads to does not count. The path has the types that contain
// t: in broken code, a type may contain itself.
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

// Offsets returns where the fields of a struct start, in bytes. An offset is nil if
// the size of a field before it, or of the field itself, is not known. The first
// field starts the struct whatever it is.
func Offsets(s *types.Struct, sizes types.Sizes) []*int64 {
	out := make([]*int64, s.NumFields())
	if len(out) == 0 {
		return out
	}
	var known []*types.Var
	for f := range s.Fields() {
		if _, _, ok := Layout(f.Type(), sizes); !ok {
			break
		}
		known = append(known, f)
	}
	out[0] = new(int64)
	if len(known) == 0 {
		return out
	}
	for i, at := range sizes.Offsetsof(known) {
		if at < 0 {
			break // it has overflowed
		}
		out[i] = &at
	}
	return out
}
