package expand

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// assign writes out an expression that is assigned to something of type t: with a
// conversion if the types differ. A nil type is unknown.
func (x *expander) assign(e ast.Expr, t types.Type) ast.Expr {
	out := x.expr(e)
	from := x.info.TypeOf(e)
	switch {
	case t == nil || from == nil:
		return out
	case x.info.Types[e].IsNil():
		return x.convert(t, out)
	case types.Identical(from, t) || !typed(from):
		return out
	}
	return x.convert(t, out)
}

// constant writes out a constant expression: the conversion of an untyped one, and with
// full the value.
func (x *expander) constant(e ast.Expr, tv types.TypeAndValue) ast.Expr {
	untyped := x.untyped(e)
	if x.full {
		if folded, ok := fold(tv); ok {
			return x.constantOf(tv.Type, folded)
		}
	}
	if untyped {
		return x.constantOf(tv.Type, e)
	}
	return x.value(e)
}

// constantOf converts an untyped constant. Untyped bools need no conversion.
func (x *expander) constantOf(t types.Type, e ast.Expr) ast.Expr {
	if !typed(t) || types.Identical(t, types.Typ[types.Bool]) {
		return e
	}
	return x.convert(t, e)
}

// typed reports whether a type is not that of an untyped constant or nil.
func typed(t types.Type) bool {
	basic, ok := t.(*types.Basic)
	return !ok || basic.Info()&types.IsUntyped == 0 && basic.Kind() != types.UntypedNil
}

// untyped reports whether an expression was untyped before its context gave it a type,
// which is what the type checker records.
func (x *expander) untyped(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return x.untyped(e.X)
	case *ast.Ident:
		return x.untypedName(e)
	case *ast.SelectorExpr:
		return x.untypedName(e.Sel)
	case *ast.UnaryExpr:
		return x.untyped(e.X)
	case *ast.BinaryExpr:
		switch {
		case compares(e.Op):
			return true
		case e.Op == token.SHL || e.Op == token.SHR:
			return x.untyped(e.X)
		}
		return x.untyped(e.X) && x.untyped(e.Y)
	case *ast.CallExpr:
		return x.untypedCall(e)
	}
	return false
}

func (x *expander) untypedName(id *ast.Ident) bool {
	c, ok := x.info.Uses[id].(*types.Const)
	return ok && !typed(c.Type())
}

// untypedCall reports whether a call is of a built-in function whose result is untyped if
// all arguments are, and they are.
func (x *expander) untypedCall(e *ast.CallExpr) bool {
	id, ok := ast.Unparen(e.Fun).(*ast.Ident)
	if !ok || !x.info.Types[e.Fun].IsBuiltin() {
		return false
	}
	switch id.Name {
	case "min", "max", "complex", "real", "imag":
		return !slices.ContainsFunc(e.Args, func(arg ast.Expr) bool { return !x.untyped(arg) })
	}
	return false
}

// convert writes a conversion.
func (x *expander) convert(t types.Type, e ast.Expr) ast.Expr {
	fun := x.typ(t)
	switch fun.(type) {
	case *ast.StarExpr, *ast.FuncType, *ast.ChanType:
		fun = &ast.ParenExpr{X: fun}
	}
	return &ast.CallExpr{Fun: fun, Args: []ast.Expr{ast.Unparen(e)}}
}

// typ writes a type as the form would, in its package.
func (x *expander) typ(t types.Type) ast.Expr {
	text := typeutil.Cut(types.TypeString(t, x.qualify), typeutil.MaxType)
	if e, err := parser.ParseExpr(text); err == nil {
		return e
	}
	x.note("the type %s cannot be written in Go", typeutil.Cut(text, typeutil.MaxShort))
	return ast.NewIdent(text)
}

// typeOf formats an expression's type.
func (x *expander) typeOf(tv types.TypeAndValue) string {
	switch {
	case tv.IsVoid():
		return "no value"
	case tv.IsBuiltin():
		return "built-in function"
	}
	return types.TypeString(tv.Type, x.qualify)
}

// qualify returns the name that a package has in the form's scope.
func (x *expander) qualify(p *types.Package) string {
	if p.Path() == x.scope.pkg.Path() {
		return ""
	}
	for _, name := range source.SortedKeys(x.scope.imports) {
		if x.scope.imports[name].Path() == p.Path() {
			return name
		}
	}
	x.named[p.Name()] = p.Path()
	return p.Name()
}

// importsOf records the packages of the scope that the expansion names.
func (x *expander) importsOf(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		_, local := x.info.Uses[id].(*types.PkgName)
		if p := x.scope.imports[id.Name]; p != nil && (local || x.info.Uses[id] == nil) {
			x.named[id.Name] = p.Path()
		}
		return true
	})
}

// fold returns a constant's value as a literal. It reports false if there is no exact
// literal, or only a very long one.
func fold(tv types.TypeAndValue) (ast.Expr, bool) {
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok {
		return nil, false
	}
	text, v := "", tv.Value
	switch info := basic.Info(); {
	case info&types.IsBoolean != 0:
		text = v.String()
	case info&types.IsString != 0:
		text = strconv.Quote(constant.StringVal(v))
	case info&types.IsInteger != 0:
		text = constant.ToInt(v).ExactString()
	case info&types.IsFloat != 0:
		text = foldFloat(v, basic)
	case info&types.IsComplex != 0:
		re, im := foldFloat(constant.Real(v), basic), foldFloat(constant.Imag(v), basic)
		if re != "" && im != "" {
			text = re + " + " + im + "i"
		}
	}
	if text == "" || len(text) > typeutil.MaxValue {
		return nil, false
	}
	e, err := parser.ParseExpr(text)
	return e, err == nil
}

// foldFloat returns an exact literal of a float, or an empty string.
func foldFloat(v constant.Value, t *types.Basic) string {
	v = constant.ToFloat(v)
	switch t.Kind() {
	case types.Float32, types.Complex64:
		f, _ := constant.Float32Val(v)
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case types.Float64, types.Complex128:
		f, _ := constant.Float64Val(v)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	text := typeutil.ExactValue(v)
	if strings.ContainsAny(text, "/ ") {
		return ""
	}
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
