package main

import (
	"go/types"
)

// methodsOf is the method set of a type and of a pointer to it together: all
// that can be called on a variable of the type.
func methodsOf(t types.Type) *types.MethodSet {
	t = types.Unalias(t)
	switch t.Underlying().(type) {
	case *types.Interface, *types.Pointer:
		return types.NewMethodSet(t)
	}
	return types.NewMethodSet(types.NewPointer(t))
}

// pointee is what t points to, or t where it is no pointer.
func pointee(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// structOf is the struct that t or what it points to is; nil: it is none.
func structOf(t types.Type) *types.Struct {
	s, _ := pointee(t).Underlying().(*types.Struct)
	return s
}

// memberNames are the names of a type's methods and fields, the promoted ones
// too, as far as the package from may use them.
func memberNames(owner *types.TypeName, from *types.Package) []string {
	names := map[string]bool{}
	add := func(obj types.Object) {
		if obj.Exported() || obj.Pkg() == from {
			names[obj.Name()] = true
		}
	}
	set := methodsOf(owner.Type())
	for i := range set.Len() {
		add(set.At(i).Obj())
	}
	seen := map[*types.Struct]bool{}
	var within func(types.Type)
	within = func(t types.Type) {
		s := structOf(t)
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
	within(owner.Type())
	return sortedKeys(names)
}

// fieldAt follows an index through embedded structs to the struct of its last
// step, and the field's place there; nil: the index leads nowhere.
func fieldAt(t types.Type, index []int) (s *types.Struct, at int) {
	for _, i := range index {
		s = structOf(t)
		if s == nil || i >= s.NumFields() {
			return nil, 0
		}
		at, t = i, s.Field(i).Type()
	}
	return s, at
}

// origin is the type through which a member is promoted: the one that declares
// it. It is nil for what the type itself declares.
func origin(t types.Type, member types.Object, index []int) types.Type {
	if len(index) > 1 {
		s, at := fieldAt(t, index[:len(index)-1])
		if s == nil {
			return nil
		}
		if declared := receiverOf(member); declared != nil {
			return declared
		}
		return pointee(s.Field(at).Type())
	}
	// An interface has the methods of those that it embeds as its own; only
	// their receivers tell.
	declared := receiverOf(member)
	if declared == nil || !types.IsInterface(t) || types.Identical(declared, types.Unalias(t)) {
		return nil
	}
	return declared
}

// receiverOf is the named type that a method is declared on; nil: it is no
// method of a named type.
func receiverOf(obj types.Object) types.Type {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return nil
	}
	if named, ok := types.Unalias(pointee(fn.Signature().Recv().Type())).(*types.Named); ok {
		return named
	}
	return nil
}

func hasPointerReceiver(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	if recv == nil {
		return false
	}
	_, ok := types.Unalias(recv.Type()).(*types.Pointer)
	return ok
}
