package expand

import (
	"go/ast"
	"go/types"
)

// call converts arguments to the types of the parameters.
func (x *expander) call(e *ast.CallExpr) ast.Expr {
	fn := x.info.Types[e.Fun]
	switch {
	case fn.IsType():
		return &ast.CallExpr{Fun: e.Fun, Args: []ast.Expr{x.converted(e.Args[0], fn.Type)}}
	case fn.IsBuiltin():
		return x.builtin(e)
	}
	out := &ast.CallExpr{Fun: x.expr(e.Fun), Ellipsis: e.Ellipsis}
	sig, ok := fn.Type.Underlying().(*types.Signature)
	for i, arg := range e.Args {
		var t types.Type
		if _, several := x.info.TypeOf(arg).(*types.Tuple); ok && !several {
			t = paramType(sig, i, e.Ellipsis.IsValid())
		}
		out.Args = append(out.Args, x.assign(arg, t))
	}
	return out
}

// paramType returns the type that the argument at i is assigned to. With an ellipsis,
// the last argument is the whole slice.
func paramType(sig *types.Signature, i int, ellipsis bool) types.Type {
	params := sig.Params()
	last := params.Len() - 1
	if !sig.Variadic() || i < last {
		return params.At(i).Type()
	}
	t := params.At(last).Type()
	if slice, ok := t.Underlying().(*types.Slice); ok && !ellipsis {
		return slice.Elem()
	}
	return t
}

// converted writes out the operand of a conversion in the form.
func (x *expander) converted(e ast.Expr, t types.Type) ast.Expr {
	if tv := x.info.Types[e]; tv.Value != nil && !types.IsInterface(t) && x.untyped(e) {
		return e
	}
	if x.info.Types[e].Value != nil && x.full && !types.IsInterface(t) {
		return x.plain(e)
	}
	return x.expr(e)
}

func (x *expander) builtin(e *ast.CallExpr) ast.Expr {
	name := ""
	switch fn := ast.Unparen(e.Fun).(type) {
	case *ast.Ident:
		name = fn.Name
	case *ast.SelectorExpr: // of package unsafe
		return e
	}
	out := &ast.CallExpr{Fun: e.Fun, Ellipsis: e.Ellipsis}
	for i, arg := range e.Args {
		out.Args = append(out.Args, x.builtinArg(name, e, i, arg))
	}
	return out
}

func (x *expander) builtinArg(name string, e *ast.CallExpr, i int, arg ast.Expr) ast.Expr {
	first := x.info.TypeOf(e.Args[0])
	switch {
	case x.info.Types[arg].IsType():
		return arg
	case name == "make":
		return x.plain(arg)
	case name == "panic":
		return x.assign(arg, types.Universe.Lookup("any").Type())
	case name == "append" && i > 0 && !e.Ellipsis.IsValid():
		if slice, ok := first.Underlying().(*types.Slice); ok {
			return x.assign(arg, slice.Elem())
		}
	case name == "delete" && i == 1:
		if m, ok := first.Underlying().(*types.Map); ok {
			return x.assign(arg, m.Key())
		}
	case (name == "len" || name == "cap") && i == 0:
		return ast.Unparen(x.array(arg))
	}
	return x.expr(arg)
}
