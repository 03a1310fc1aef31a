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
		if !ok || !Unify(m.Signature(), have.Signature(), found.bind) {
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

// bind decides whether a type parameter can stand for a type: one of the interface's
// can if it is not bound to another type, any other only for itself.
func (b binding) bind(want, have types.Type) bool {
	param, _ := want.(*types.TypeParam)
	bound, ours := b[param]
	switch {
	case !ours:
		return types.Identical(want, have)
	case bound == nil:
		b[param] = have
		return true
	}
	return types.Identical(bound, have)
}
