package main

import (
	"context"
	"go/types"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type arglistIn struct {
	Function string `json:"function" jsonschema:"Name, pkg.Name, Type.Method or pkg.Type.Method; pkg is a package's name, import path or the end of its path, as in fmt.Fprintf or net/http.Client.Do"`
	Package  string `json:"package,omitempty" jsonschema:"where to look: an import path, a directory relative to the workspace (./host) or a package name; default: the package that function names, else the workspace's packages"`
}

// arglist is what function_arglist answers.
type arglist struct {
	Name           string      `json:"name" jsonschema:"the name in its package, Type.Method for a method"`
	Kind           string      `json:"kind" jsonschema:"func or method; var, field or type for what is of a function type"`
	Package        string      `json:"package" jsonschema:"import path"`
	Signature      string      `json:"signature" jsonschema:"the declaration on one line, without body"`
	TypeParameters []typeParam `json:"type_parameters,omitempty"`
	Receiver       *recipient  `json:"receiver,omitempty"`
	Parameters     []parameter `json:"parameters"`
	Results        []parameter `json:"results"`
	Errors         []string    `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer is what could be found out all the same"`
}

type typeParam struct {
	Name       string `json:"name"`
	Constraint string `json:"constraint"`
}

type recipient struct {
	Name           string      `json:"name,omitempty"`
	Type           string      `json:"type"`
	Pointer        bool        `json:"pointer" jsonschema:"the receiver is a pointer"`
	TypeParameters []typeParam `json:"type_parameters,omitempty" jsonschema:"of the receiver's type"`
}

type parameter struct {
	Name     string `json:"name,omitempty" jsonschema:"missing where the declaration has none"`
	Type     string `json:"type" jsonschema:"of a variadic parameter the type of one argument"`
	Variadic bool   `json:"variadic,omitempty" jsonschema:"any number of arguments"`
}

func (w *workspace) functionArglist() tool.Tool {
	return pluginsdk.Func("function_arglist",
		"Tells how a Go function or method is called: type parameters with constraints, receiver, parameters and results, each with name and type. "+
			"Use it before writing a call; describe_symbol gives documentation too.",
		w.arglist,
		pluginsdk.Title("Show a Go function's parameters"), pluginsdk.Safe(), pluginsdk.Categories("introspection"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("function", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) arglist(ctx context.Context, in arglistIn) (arglist, error) {
	_, s, err := w.subject(ctx, in.Function, in.Package)
	if err != nil {
		return arglist{}, err
	}
	sig, ok := s.object.Type().Underlying().(*types.Signature)
	if !ok {
		return arglist{}, s.notA("function")
	}
	p := printer{s.unit.Types}
	return arglist{
		Name: s.name(), Kind: kind(s.object), Package: s.unit.PkgPath, Signature: p.signature(s.object),
		TypeParameters: p.typeParamList(typeParamsOf(s.object, sig)), Receiver: p.recipient(s.object, sig),
		Parameters: p.parameters(sig.Params(), sig.Variadic()), Results: p.parameters(sig.Results(), false),
		Errors: s.unit.errors,
	}, nil
}

// typeParamsOf are a function's type parameters, or those of a function type.
func typeParamsOf(obj types.Object, sig *types.Signature) *types.TypeParamList {
	if name, ok := obj.(*types.TypeName); ok {
		switch t := name.Type().(type) {
		case *types.Named:
			return t.TypeParams()
		case *types.Alias:
			return t.TypeParams()
		}
	}
	return sig.TypeParams()
}

func (p printer) typeParamList(list *types.TypeParamList) []typeParam {
	var out []typeParam
	for param := range list.TypeParams() {
		out = append(out, typeParam{Name: param.Obj().Name(), Constraint: p.typ(param.Constraint())})
	}
	return out
}

func (p printer) recipient(obj types.Object, sig *types.Signature) *recipient {
	fn, ok := obj.(*types.Func)
	if !ok || sig.Recv() == nil {
		return nil
	}
	out := &recipient{Name: sig.Recv().Name(), Type: p.typ(sig.Recv().Type()), Pointer: hasPointerReceiver(fn)}
	if fn.Origin() == fn { // an instance has arguments in their place
		out.TypeParameters = p.typeParamList(sig.RecvTypeParams())
	}
	return out
}

func (p printer) parameters(list *types.Tuple, variadic bool) []parameter {
	out := []parameter{}
	for i := range list.Len() {
		v := list.At(i)
		one := parameter{Name: v.Name(), Type: p.typ(v.Type())}
		if slice, ok := v.Type().Underlying().(*types.Slice); ok && variadic && i == list.Len()-1 {
			one.Type, one.Variadic = p.typ(slice.Elem()), true
		}
		out = append(out, one)
	}
	return out
}
