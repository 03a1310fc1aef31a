package tools

import (
	"context"
	"go/types"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type arglistIn struct {
	Function string `json:"function" jsonschema:"Name, pkg.Name, Type.Method or pkg.Type.Method; pkg is a name, an import path or the end of one, as in fmt.Fprintf or net/http.Client.Do"`
	Package  string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what function names, else the workspace"`
	build
}

// arglist is the answer of function_arglist.
type arglist struct {
	Name           string      `json:"name" jsonschema:"the name in its package, Type.Method for a method"`
	Kind           string      `json:"kind" jsonschema:"func or method; var, field or type if that is of a function type"`
	Package        string      `json:"package" jsonschema:"import path"`
	Signature      string      `json:"signature" jsonschema:"the declaration on one line, without the body"`
	TypeParameters []typeParam `json:"type_parameters,omitempty"`
	Receiver       *receiver   `json:"receiver,omitempty"`
	Parameters     []parameter `json:"parameters"`
	Results        []parameter `json:"results"`
	Errors         []string    `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer has what could be found out nevertheless"`
}

type typeParam struct {
	Name       string `json:"name"`
	Constraint string `json:"constraint"`
}

type receiver struct {
	Name           string      `json:"name,omitempty"`
	Type           string      `json:"type"`
	Pointer        bool        `json:"pointer" jsonschema:"the receiver is a pointer"`
	TypeParameters []typeParam `json:"type_parameters,omitempty" jsonschema:"of the receiver's type"`
}

type parameter struct {
	Name     string `json:"name,omitempty" jsonschema:"missing if the declaration has none"`
	Type     string `json:"type" jsonschema:"the type; of a variadic parameter the type of one argument"`
	Variadic bool   `json:"variadic,omitempty" jsonschema:"any number of arguments"`
}

func functionArglist(w *check.Workspace) tool.Tool {
	return define(w, "function_arglist",
		"Shows how to call a Go function or method: type parameters with constraints, receiver, parameters and "+
			"results, with name and type. Use it before writing a call.",
		findArglist, pluginsdk.Title("Show a Go function's parameters"), pluginsdk.Categories("introspection"),
		pluginsdk.Argument("function", nameLimit), pluginsdk.Argument("package", nameLimit))
}

func findArglist(ctx context.Context, w *check.Workspace, in arglistIn) (arglist, error) {
	_, s, err := lookup.Find(ctx, w, in.Function, in.Package)
	if err != nil {
		return arglist{}, err
	}
	sig, ok := s.Object.Type().Underlying().(*types.Signature)
	if !ok {
		return arglist{}, s.NotA("function")
	}
	p := typeutil.Printer{Pkg: s.Package.Types}
	out := newArglist(s, sig, p)
	if encodedSize(out) > maxAnswer {
		p.Limit = typeutil.MaxShort
		out = newArglist(s, sig, p)
	}
	return out, nil
}

func newArglist(s *lookup.Symbol, sig *types.Signature, p typeutil.Printer) arglist {
	return arglist{
		Name: s.Name(), Kind: typeutil.Kind(s.Object), Package: s.Package.Node.Path, Signature: p.Signature(s.Object),
		TypeParameters: typeParams(p, typeParamsOf(s.Object, sig)), Receiver: newReceiver(p, s.Object, sig),
		Parameters: parameters(p, sig.Params(), sig.Variadic()), Results: parameters(p, sig.Results(), false),
		Errors: s.Package.Errors,
	}
}

// typeParamsOf returns a function's type parameters, or those of a function type.
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

func typeParams(p typeutil.Printer, list *types.TypeParamList) []typeParam {
	var out []typeParam
	for param := range list.TypeParams() {
		out = append(out, typeParam{Name: param.Obj().Name(), Constraint: p.Type(param.Constraint())})
	}
	return out
}

func newReceiver(p typeutil.Printer, obj types.Object, sig *types.Signature) *receiver {
	fn, ok := obj.(*types.Func)
	if !ok || sig.Recv() == nil {
		return nil
	}
	out := &receiver{Name: sig.Recv().Name(), Type: p.Type(sig.Recv().Type()), Pointer: typeutil.HasPointerReceiver(fn)}
	if fn.Origin() == fn { // an instance has arguments instead
		out.TypeParameters = typeParams(p, sig.RecvTypeParams())
	}
	return out
}

func parameters(p typeutil.Printer, list *types.Tuple, variadic bool) []parameter {
	out := []parameter{}
	for i := range list.Len() {
		v := list.At(i)
		one := parameter{Name: v.Name(), Type: p.Type(v.Type())}
		if slice, ok := v.Type().Underlying().(*types.Slice); ok && variadic && i == list.Len()-1 {
			one.Type, one.Variadic = p.Type(slice.Elem()), true
		}
		out = append(out, one)
	}
	return out
}
