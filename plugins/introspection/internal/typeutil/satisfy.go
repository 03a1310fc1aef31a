package typeutil

import (
	"go/types"
)

// Satisfies reports whether values of a type satisfy an interface; pointer says that
// only pointers to the type do. The type arguments of a generic interface are
// inferred from the type's methods: as is the instance, or the interface itself if
// it is not generic.
func Satisfies(t types.Type, iface *types.Named) (as types.Type, pointer, ok bool) {
	t = instantiated(t)
	if as = inferInstance(t, iface); as == nil {
		return nil, false, false
	}
	wanted, _ := as.Underlying().(*types.Interface)
	if !wanted.IsMethodSet() {
		return as, false, !types.IsInterface(t) && types.Satisfies(t, wanted)
	}
	if wanted.NumMethods() == 0 {
		return nil, false, false // everything does
	}
	if types.Implements(t, wanted) {
		return as, false, true
	}
	if types.IsInterface(t) {
		return nil, false, false
	}
	return as, true, types.Implements(types.NewPointer(t), wanted)
}

// instantiated returns a generic type with its own parameters as arguments, so that
// its methods use the same parameters. It returns any other type as it is.
func instantiated(t types.Type) types.Type {
	named, ok := t.(*types.Named)
	if !ok || named.TypeParams().Len() == 0 || named.TypeArgs().Len() > 0 {
		return t
	}
	var args []types.Type
	for param := range named.TypeParams().TypeParams() {
		args = append(args, param)
	}
	if instance, err := types.Instantiate(nil, named, args, false); err == nil {
		return instance
	}
	return t
}

// inferInstance returns the instance of a generic interface that t could satisfy, or
// nil. It returns an interface that is not generic as it is.
func inferInstance(t types.Type, iface *types.Named) types.Type {
	params := iface.TypeParams()
	if params.Len() == 0 {
		return iface
	}
	wanted := iface.Underlying().(*types.Interface)
	found := binding{}
	for param := range params.TypeParams() {
		found[param] = nil
	}
	for m := range wanted.Methods() {
		obj, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name())
		have, ok := obj.(*types.Func)
		if !ok || !found.unify(m.Signature(), have.Signature()) {
			return nil
		}
	}
	var args []types.Type
	for param := range params.TypeParams() {
		if found[param] == nil {
			return nil
		}
		args = append(args, found[param])
	}
	if instance, err := types.Instantiate(nil, iface, args, true); err == nil {
		return instance
	}
	return nil
}

// binding has the type arguments of an interface's parameters; nil: not known yet.
type binding map[*types.TypeParam]types.Type

// unify makes want identical to have by binding parameters in want. It reports
// whether that is possible.
func (b binding) unify(want, have types.Type) bool {
	want, have = types.Unalias(want), types.Unalias(have)
	if param, ok := want.(*types.TypeParam); ok {
		if bound, ours := b[param]; ours && bound == nil {
			b[param] = have
			return true
		} else if ours {
			return types.Identical(bound, have)
		}
	}
	switch w := want.(type) {
	case *types.Named:
		h, ok := have.(*types.Named)
		return ok && w.Origin() == h.Origin() && b.unifyLists(w.TypeArgs(), h.TypeArgs())
	case *types.Pointer:
		h, ok := have.(*types.Pointer)
		return ok && b.unify(w.Elem(), h.Elem())
	case *types.Slice:
		h, ok := have.(*types.Slice)
		return ok && b.unify(w.Elem(), h.Elem())
	case *types.Array:
		h, ok := have.(*types.Array)
		return ok && w.Len() == h.Len() && b.unify(w.Elem(), h.Elem())
	case *types.Map:
		h, ok := have.(*types.Map)
		return ok && b.unify(w.Key(), h.Key()) && b.unify(w.Elem(), h.Elem())
	case *types.Chan:
		h, ok := have.(*types.Chan)
		return ok && w.Dir() == h.Dir() && b.unify(w.Elem(), h.Elem())
	case *types.Signature:
		h, ok := have.(*types.Signature)
		return ok && w.Variadic() == h.Variadic() && b.unifyTuples(w.Params(), h.Params()) && b.unifyTuples(w.Results(), h.Results())
	}
	return types.Identical(want, have)
}

func (b binding) unifyLists(want, have *types.TypeList) bool {
	if want.Len() != have.Len() {
		return false
	}
	for i := range want.Len() {
		if !b.unify(want.At(i), have.At(i)) {
			return false
		}
	}
	return true
}

func (b binding) unifyTuples(want, have *types.Tuple) bool {
	if want.Len() != have.Len() {
		return false
	}
	for i := range want.Len() {
		if !b.unify(want.At(i).Type(), have.At(i).Type()) {
			return false
		}
	}
	return true
}
