package main

import (
	"bytes"
	"fmt"
	"go/types"
	"strings"
)

// printer writes types and declarations as Go code does that stands in one
// package: names of that package alone, others behind their package's name.
type printer struct{ pkg *types.Package }

// maxType bounds what is printed of one type, in bytes: some structs of the
// standard library's size would fill pages.
const maxType = 4 << 10

func (p printer) qualify(other *types.Package) string {
	if other == p.pkg || other.Path() == p.pkg.Path() {
		return ""
	}
	return other.Name()
}

func (p printer) typ(t types.Type) string {
	return cut(types.TypeString(t, p.qualify), maxType)
}

// signature is the declaration of obj on one line, without a body. Structs and
// interfaces have no body either; [printer.underlying] gives that.
func (p printer) signature(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		return "func " + p.receiver(obj) + obj.Name() + p.params(obj.Signature())
	case *types.TypeName:
		return "type " + obj.Name() + p.typeDecl(obj)
	case *types.Const:
		return p.constDecl(obj)
	case *types.Var:
		if obj.IsField() {
			return obj.Name() + " " + p.typ(obj.Type())
		}
		return "var " + obj.Name() + " " + p.typ(obj.Type())
	}
	return cut(types.ObjectString(obj, p.qualify), maxType)
}

func (p printer) params(sig *types.Signature) string {
	var b bytes.Buffer
	types.WriteSignature(&b, sig, p.qualify)
	return cut(b.String(), maxType)
}

func (p printer) receiver(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return ""
	}
	name := recv.Name()
	if name != "" {
		name += " "
	}
	if _, anonymous := recv.Type().(*types.Interface); anonymous {
		return ""
	}
	return fmt.Sprintf("(%s%s) ", name, p.typ(recv.Type()))
}

func (p printer) typeDecl(obj *types.TypeName) string {
	if alias, ok := obj.Type().(*types.Alias); ok && obj.IsAlias() {
		return p.typeParams(alias.TypeParams()) + " = " + p.typ(alias.Rhs())
	}
	if obj.IsAlias() {
		return " = " + p.typ(obj.Type())
	}
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return " " + p.typ(obj.Type().Underlying())
	}
	params := p.typeParams(named.TypeParams())
	switch named.Underlying().(type) {
	case *types.Struct:
		return params + " struct"
	case *types.Interface:
		return params + " interface"
	}
	return params + " " + p.typ(named.Underlying())
}

func (p printer) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var b strings.Builder
	for i := range list.Len() {
		param := list.At(i)
		switch {
		case i == 0:
			b.WriteString("[")
		case param.Constraint() == list.At(i-1).Constraint():
			b.WriteString(", ")
		default:
			b.WriteString(" " + p.typ(list.At(i-1).Constraint()) + ", ")
		}
		b.WriteString(param.Obj().Name())
	}
	b.WriteString(" " + p.typ(list.At(list.Len()-1).Constraint()) + "]")
	return b.String()
}

func (p printer) constDecl(obj *types.Const) string {
	t := ""
	if basic, ok := obj.Type().(*types.Basic); !ok || basic.Info()&types.IsUntyped == 0 {
		t = " " + p.typ(obj.Type())
	}
	return fmt.Sprintf("const %s%s = %s", obj.Name(), t, cut(exact(obj.Val()), maxShort))
}

// underlying is what stands behind a declared name: the type that an alias is
// for, the whole struct or interface of a type, the type of anything else.
func (p printer) underlying(obj types.Object) string {
	if name, ok := obj.(*types.TypeName); ok {
		if alias, ok := name.Type().(*types.Alias); ok {
			return p.typ(alias.Rhs())
		}
		return p.typ(name.Type().Underlying())
	}
	if fn, ok := obj.(*types.Func); ok {
		// Without its receiver: what a method's type is when it is called.
		sig := fn.Signature()
		return "func" + p.params(sig)
	}
	return p.typ(obj.Type())
}

// cut shortens a text to about limit bytes and says how long it was.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:limit], ""), len(s))
}
