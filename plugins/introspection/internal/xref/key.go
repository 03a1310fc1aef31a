package xref

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Key identifies a symbol by its import path and names: one that is declared at package
// level, or a part of one, such as a field, also of structs without a name. Types that a
// function declares, and their parts, are identified by the place of the declaration. It
// stays the same when the same source is type-checked again. It is empty for symbols
// whose uses are not collected, such as local variables.
type Key string

// Placed reports whether the key has the place of a declaration in a function. Import
// paths and names have no colons.
func (k Key) Placed() bool { return strings.Contains(string(k), ":") }

// errorMethod is the one method that belongs to no package.
const errorMethod Key = "error.Error"

// Keys finds the keys of objects. It remembers the parts of packages. It is safe for
// concurrent use.
type Keys struct {
	// Fset has the positions of the objects. Without it, the keys of what functions
	// declare are empty.
	Fset *token.FileSet

	mu    sync.Mutex
	parts map[*types.Package]map[types.Object]Key
}

// Of returns the key of an object.
func (k *Keys) Of(obj types.Object) Key {
	switch obj := obj.(type) {
	case *types.Func:
		recv := obj.Signature().Recv()
		switch {
		case recv == nil:
		case obj.Pkg() == nil:
			return errorMethod
		case types.IsInterface(recv.Type()):
			return k.part(obj.Origin())
		default:
			return methodKey(obj.Origin(), recv)
		}
	case *types.Var:
		if obj.IsField() {
			return k.part(obj.Origin())
		}
	case *types.TypeName:
		if _, isParameter := obj.Type().(*types.TypeParam); !isParameter && !atPackageLevel(obj) {
			return k.place(obj)
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
	named, ok := types.Unalias(typeutil.Deref(recv.Type())).(*types.Named)
	if !ok || !atPackageLevel(named.Obj()) {
		return ""
	}
	return Key(fn.Pkg().Path() + "." + named.Obj().Name() + "." + fn.Name())
}

// part finds what declares a field or an interface's method, which these do not know.
func (k *Keys) part(obj types.Object) Key {
	if obj.Pkg() == nil {
		return ""
	}
	k.mu.Lock()
	known, ok := k.parts[obj.Pkg()]
	if !ok {
		if k.parts == nil {
			k.parts = map[*types.Package]map[types.Object]Key{}
		}
		known = partsOf(obj.Pkg())
		k.parts[obj.Pkg()] = known
	}
	k.mu.Unlock()
	if key := known[obj]; key != "" {
		return key
	}
	return k.place(obj)
}

// place identifies what a function declares. It is not the whole path of the file: a
// package is in one directory.
func (k *Keys) place(obj types.Object) Key {
	if k.Fset == nil || obj.Pkg() == nil || !obj.Pos().IsValid() {
		return ""
	}
	p := k.Fset.Position(obj.Pos())
	return Key(fmt.Sprintf("%s/%s:%d:%d.%s", obj.Pkg().Path(), filepath.Base(p.Filename), p.Line, p.Column, obj.Name()))
}

// partsOf returns the keys of the fields and interfaces' methods that a package
// declares. If several declarations share a struct, as in "type A B", a field belongs
// to the last one before it.
func partsOf(pkg *types.Package) map[types.Object]Key {
	c := partCollector{pkg: pkg, out: map[types.Object]Key{}, owners: map[types.Object]types.Object{}}
	for _, name := range pkg.Scope().Names() {
		owner := pkg.Scope().Lookup(name)
		if _, isConst := owner.(*types.Const); !isConst {
			c.within(owner, pkg.Path()+"."+name, typeutil.PartsOf(owner))
		}
	}
	return c.out
}

type partCollector struct {
	pkg    *types.Package
	out    map[types.Object]Key
	owners map[types.Object]types.Object
}

func (c *partCollector) within(owner types.Object, path string, parts []types.Object) {
	taken := map[string]int{}
	for _, part := range parts {
		if fn, ok := part.(*types.Func); ok && !types.IsInterface(fn.Signature().Recv().Type()) {
			c.within(fn, path+"."+fn.Name(), typeutil.Parts(fn.Signature()))
			continue
		}
		if part.Pkg() != c.pkg || part.Pos() < owner.Pos() || c.owners[part] != nil && c.owners[part].Pos() > owner.Pos() {
			continue
		}
		path := path + "." + part.Name()
		// A map's key and its elements, or two results, may have fields of one name.
		if taken[path]++; taken[path] > 1 {
			path += fmt.Sprintf("#%d", taken[path])
		}
		c.owners[part], c.out[part] = owner, Key(path)
		c.within(owner, path, typeutil.Parts(part.Type()))
	}
}
