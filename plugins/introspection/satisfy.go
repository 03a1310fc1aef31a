package main

import (
	"go/types"
)

// satisfies says whether values of a type have all that an interface wants:
// those of the type itself, or only pointers to it. What a generic interface is
// an instance of for the type is inferred from the methods; as is that instance,
// or the interface itself where it is not generic.
func satisfies(t types.Type, iface *types.Named) (as types.Type, pointer, ok bool) {
	t = itself(t)
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

// itself is a generic type with its own parameters as arguments: only so do its
// methods speak of the same parameters. Any other type is left as it is.
func itself(t types.Type) types.Type {
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

// inferInstance is the instance of a generic interface that t could satisfy;
// the interface itself where it is not generic; nil: there is none.
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

// binding is what the type parameters of an interface stand for; nil: not known
// yet.
type binding map[*types.TypeParam]types.Type

// unify makes want the same as have by binding parameters in want, and says
// whether that can be.
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
