package typeutil

import "go/types"

// Kind returns what an object is: func, method, type, const, field, var or
// builtin.
func Kind(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		if obj.Signature().Recv() != nil {
			return "method"
		}
		return "func"
	case *types.TypeName:
		return "type"
	case *types.Const:
		return "const"
	case *types.Var:
		if obj.IsField() {
			return "field"
		}
		return "var"
	}
	return "builtin"
}

// TypeKind returns what a type is: struct, interface, basic, pointer, slice,
// array, map, chan or func, and invalid in broken code.
func TypeKind(t types.Type) string {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return "invalid"
		}
	case *types.Struct:
		return "struct"
	case *types.Interface:
		return "interface"
	case *types.Pointer:
		return "pointer"
	case *types.Slice:
		return "slice"
	case *types.Array:
		return "array"
	case *types.Map:
		return "map"
	case *types.Chan:
		return "chan"
	case *types.Signature:
		return "func"
	}
	return "basic"
}
