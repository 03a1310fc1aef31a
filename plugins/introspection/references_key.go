package main

import (
	"go/types"
	"sync"
)

// key names a symbol that is declared at package level, or a member of one, so
// that it can be told again where the same source was type-checked anew. It is
// empty for what has no such name, such as a local variable.
type key string

// errorMethod is the one method that belongs to no package.
const errorMethod key = "error.Error"

// keys finds the keys of objects. It is safe for concurrent use.
type keys struct {
	mu     sync.Mutex
	fields map[*types.Package]map[*types.Var]key
}

func (k *keys) of(obj types.Object) key {
	switch obj := obj.(type) {
	case *types.Func:
		if recv := obj.Signature().Recv(); recv != nil {
			return methodKey(obj.Origin(), recv)
		}
	case *types.Var:
		if obj.IsField() {
			return k.field(obj.Origin())
		}
	case *types.PkgName, *types.Label, *types.Nil:
		return ""
	}
	if !atPackageLevel(obj) {
		return ""
	}
	return key(obj.Pkg().Path() + "." + obj.Name())
}

func atPackageLevel(obj types.Object) bool {
	return obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope()
}

func methodKey(fn *types.Func, recv *types.Var) key {
	if fn.Pkg() == nil {
		return errorMethod
	}
	named, ok := types.Unalias(pointee(recv.Type())).(*types.Named)
	if !ok || !atPackageLevel(named.Obj()) {
		return ""
	}
	return key(fn.Pkg().Path() + "." + named.Obj().Name() + "." + fn.Name())
}

// field finds the type that a field is declared in, which the field itself does
// not tell.
func (k *keys) field(f *types.Var) key {
	if f.Pkg() == nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.fields[f.Pkg()]
	if !ok {
		if k.fields == nil {
			k.fields = map[*types.Package]map[*types.Var]key{}
		}
		known = fieldsOf(f.Pkg())
		k.fields[f.Pkg()] = known
	}
	return known[f]
}

// fieldsOf are the fields of a package's types. Of several types that are one
// struct, as in "type A B", the field belongs to the one declared last before it.
func fieldsOf(pkg *types.Package) map[*types.Var]key {
	out := map[*types.Var]key{}
	owners := map[*types.Var]types.Object{}
	var within func(owner types.Object, path string, t types.Type)
	within = func(owner types.Object, path string, t types.Type) {
		s, ok := t.(*types.Struct)
		if !ok {
			return
		}
		for f := range s.Fields() {
			if f.Pkg() != pkg || f.Pos() < owner.Pos() || owners[f] != nil && owners[f].Pos() > owner.Pos() {
				continue
			}
			owners[f], out[f] = owner, key(path+"."+f.Name())
			within(owner, path+"."+f.Name(), f.Type())
		}
	}
	for _, name := range pkg.Scope().Names() {
		owner, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		within(owner, pkg.Path()+"."+name, types.Unalias(owner.Type()).Underlying())
	}
	return out
}
