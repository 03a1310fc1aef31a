package typeutil

import (
	"go/types"
	"maps"
	"slices"
)

// MethodSet returns the methods of a type and of a pointer to it: all that can be
// called on a variable of the type.
func MethodSet(t types.Type) *types.MethodSet {
	t = types.Unalias(t)
	switch t.Underlying().(type) {
	case *types.Interface, *types.Pointer:
		return types.NewMethodSet(t)
	}
	return types.NewMethodSet(types.NewPointer(t))
}

// Deref returns what t points to, or t if it is not a pointer.
func Deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// Struct returns the struct that t is or points to, or nil.
func Struct(t types.Type) *types.Struct {
	s, _ := Deref(t).Underlying().(*types.Struct)
	return s
}

// MemberNames returns the names of a type's methods and fields, including promoted
// ones, that the package from may use, and those of its parts without a name.
func MemberNames(of types.Type, from *types.Package) []string {
	names := map[string]bool{}
	add := func(obj types.Object) {
		if obj.Exported() || obj.Pkg() == from {
			names[obj.Name()] = true
		}
	}
	for _, part := range append(Parts(of), Parts(of.Underlying())...) {
		add(part)
	}
	set := MethodSet(of)
	for i := range set.Len() {
		add(set.At(i).Obj())
	}
	seen := map[*types.Struct]bool{}
	var within func(types.Type)
	within = func(t types.Type) {
		s := Struct(t)
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for f := range s.Fields() {
			add(f)
			if f.Embedded() {
				within(f.Type())
			}
		}
	}
	within(of)
	return slices.Sorted(maps.Keys(names))
}

// FieldAt follows an index through embedded structs. It returns the struct of the
// last step and the position of the field in it, or nil if the index does not fit.
func FieldAt(t types.Type, index []int) (s *types.Struct, at int) {
	for _, i := range index {
		s = Struct(t)
		if s == nil || i >= s.NumFields() {
			return nil, 0
		}
		at, t = i, s.Field(i).Type()
	}
	return s, at
}

// PromotedFrom returns the type that declares a promoted member, which
// [types.LookupFieldOrMethod] found in t with that index. It is nil for a member that t
// declares itself.
func PromotedFrom(t types.Type, member types.Object, index []int) types.Type {
	if len(index) > 1 {
		s, at := FieldAt(t, index[:len(index)-1])
		if s == nil {
			return nil
		}
		if declared := receiverOf(member); declared != nil {
			return declared
		}
		return Deref(s.Field(at).Type())
	}
	// The methods of embedded interfaces are the interface's own; only their
	// receivers tell where they are declared.
	declared := receiverOf(member)
	if declared == nil || !types.IsInterface(t) || types.Identical(declared, types.Unalias(t)) {
		return nil
	}
	return declared
}

// receiverOf returns the named type that a method is declared on, or nil.
func receiverOf(obj types.Object) types.Type {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return nil
	}
	if named, ok := types.Unalias(Deref(fn.Signature().Recv().Type())).(*types.Named); ok {
		return named
	}
	return nil
}

// HasPointerReceiver reports whether fn is a method of a pointer.
func HasPointerReceiver(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	if recv == nil {
		return false
	}
	_, ok := types.Unalias(recv.Type()).(*types.Pointer)
	return ok
}
