package typeutil

import (
	"bytes"
	"fmt"
	"go/types"
	"strings"
)

// Printer formats types and declarations as code of the package Pkg would write
// them: names of other packages are qualified.
type Printer struct {
	Pkg *types.Package
	// Limit bounds the text of one type, in bytes. Zero: [MaxType].
	Limit int
}

// MaxType bounds the text of one type, in bytes: some structs would fill pages.
const MaxType = 4 << 10

// Qualify is a [types.Qualifier].
func (p Printer) Qualify(other *types.Package) string {
	if other == p.Pkg || other.Path() == p.Pkg.Path() {
		return ""
	}
	return other.Name()
}

// Type formats a type.
func (p Printer) Type(t types.Type) string {
	return p.cut(types.TypeString(t, p.Qualify))
}

// Signature formats the declaration of obj on one line, without the bodies of
// functions, structs and interfaces.
func (p Printer) Signature(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		return "func " + p.receiver(obj) + obj.Name() + p.params(obj.Signature())
	case *types.TypeName:
		return "type " + obj.Name() + p.typeDecl(obj)
	case *types.Const:
		return p.constDecl(obj)
	case *types.Var:
		if obj.IsField() {
			return obj.Name() + " " + p.Type(obj.Type())
		}
		return "var " + obj.Name() + " " + p.Type(obj.Type())
	}
	return p.cut(types.ObjectString(obj, p.Qualify))
}

func (p Printer) params(sig *types.Signature) string {
	var b bytes.Buffer
	types.WriteSignature(&b, sig, p.Qualify)
	return p.cut(b.String())
}

func (p Printer) cut(text string) string {
	if p.Limit > 0 {
		return Cut(text, p.Limit)
	}
	return Cut(text, MaxType)
}

func (p Printer) receiver(fn *types.Func) string {
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
	return fmt.Sprintf("(%s%s) ", name, p.Type(recv.Type()))
}

func (p Printer) typeDecl(obj *types.TypeName) string {
	if alias, ok := obj.Type().(*types.Alias); ok && obj.IsAlias() {
		return p.typeParams(alias.TypeParams()) + " = " + p.Type(alias.Rhs())
	}
	if obj.IsAlias() {
		return " = " + p.Type(obj.Type())
	}
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return " " + p.Type(obj.Type().Underlying())
	}
	params := p.typeParams(named.TypeParams())
	switch named.Underlying().(type) {
	case *types.Struct:
		return params + " struct"
	case *types.Interface:
		return params + " interface"
	}
	return params + " " + p.Type(named.Underlying())
}

func (p Printer) typeParams(list *types.TypeParamList) string {
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
			b.WriteString(" " + p.Type(list.At(i-1).Constraint()) + ", ")
		}
		b.WriteString(param.Obj().Name())
	}
	b.WriteString(" " + p.Type(list.At(list.Len()-1).Constraint()) + "]")
	return b.String()
}

func (p Printer) constDecl(obj *types.Const) string {
	t := ""
	if basic, ok := obj.Type().(*types.Basic); !ok || basic.Info()&types.IsUntyped == 0 {
		t = " " + p.Type(obj.Type())
	}
	return fmt.Sprintf("const %s%s = %s", obj.Name(), t, Cut(ExactValue(obj.Val()), MaxShort))
}

// Underlying formats the type of obj: for an alias the type that it stands for, for a
// type what it is declared as.
func (p Printer) Underlying(obj types.Object) string {
	if name, ok := obj.(*types.TypeName); ok {
		if alias, ok := name.Type().(*types.Alias); ok {
			return p.Type(alias.Rhs())
		}
		return p.Type(name.Type().Underlying())
	}
	if fn, ok := obj.(*types.Func); ok {
		// The type of a method value: without the receiver.
		sig := fn.Signature()
		return "func" + p.params(sig)
	}
	return p.Type(obj.Type())
}

// Cut shortens a text to about limit bytes and says how long it was.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:limit], ""), len(s))
}
