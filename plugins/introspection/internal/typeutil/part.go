package typeutil

import "go/types"

// Parts returns what the parts of a type that have no names of their own declare: the
// fields of its structs, the methods of its interfaces, and the named parameters and
// results of its functions. It looks into pointers, slices, arrays, maps, channels and
// type arguments, and not into types with names, which own what they declare.
func Parts(t types.Type) []types.Object {
	var out []types.Object
	addParts(&out, t)
	return out
}

func addParts(out *[]types.Object, t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Struct:
		for f := range t.Fields() {
			*out = append(*out, f)
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			*out = append(*out, m)
		}
		for e := range t.EmbeddedTypes() {
			addParts(out, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			addParts(out, term.Type())
		}
	case *types.Map:
		addParts(out, t.Key())
		addParts(out, t.Elem())
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		addParts(out, t.Elem())
	case *types.Signature:
		addVariables(out, t.Params())
		addVariables(out, t.Results())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			addParts(out, arg)
		}
	}
}

// addVariables adds parameters or results, and the parts of those without a name.
func addVariables(out *[]types.Object, list *types.Tuple) {
	for v := range list.Variables() {
		if v.Name() == "" || v.Name() == "_" {
			addParts(out, v.Type())
		} else {
			*out = append(*out, v)
		}
	}
}

// PartsOf returns the parts of what a package declares: for a type those of what it is
// declared as, and its methods.
func PartsOf(obj types.Object) []types.Object {
	name, ok := obj.(*types.TypeName)
	if !ok {
		return Parts(obj.Type())
	}
	out := Parts(types.Unalias(name.Type()).Underlying())
	if named, ok := name.Type().(*types.Named); ok {
		for m := range named.Methods() {
			out = append(out, m)
		}
	}
	return out
}
