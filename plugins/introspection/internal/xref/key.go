package xref

import (
	"go/types"
	"sync"

	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Key identifies a symbol that is declared at package level, or a member of one, by
// its import path and names. It stays the same when the source is type-checked again.
// It is empty for symbols without such a name, such as local variables.
type Key string

// errorMethod is the one method that belongs to no package.
const errorMethod Key = "error.Error"

// Keys finds the keys of objects. It remembers the fields of packages. The zero Keys
// is ready to use, and safe for concurrent use.
type Keys struct {
	mu     sync.Mutex
	fields map[*types.Package]map[*types.Var]Key
}

// Of returns the key of an object.
func (k *Keys) Of(obj types.Object) Key {
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
	return Key(obj.Pkg().Path() + "." + obj.Name())
}

func atPackageLevel(obj types.Object) bool {
	return obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope()
}

func methodKey(fn *types.Func, recv *types.Var) Key {
	if fn.Pkg() == nil {
		return errorMethod
	}
	named, ok := types.Unalias(typeutil.Deref(recv.Type())).(*types.Named)
	if !ok || !atPackageLevel(named.Obj()) {
		return ""
	}
	return Key(fn.Pkg().Path() + "." + named.Obj().Name() + "." + fn.Name())
}

// field finds the type that declares a field, which the field does not know.
func (k *Keys) field(f *types.Var) Key {
	if f.Pkg() == nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.fields[f.Pkg()]
	if !ok {
		if k.fields == nil {
			k.fields = map[*types.Package]map[*types.Var]Key{}
		}
		known = fieldsOf(f.Pkg())
		k.fields[f.Pkg()] = known
	}
	return known[f]
}

// fieldsOf returns the keys of the fields of a package's types. If several types
// share a struct, as in "type A B", a field belongs to the last one declared before
// it.
func fieldsOf(pkg *types.Package) map[*types.Var]Key {
	out := map[*types.Var]Key{}
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
			owners[f], out[f] = owner, Key(path+"."+f.Name())
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
