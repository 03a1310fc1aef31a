package expand

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// expander writes out what a checked form leaves unsaid. It builds new nodes from those
// of the form, which it does not change. The bodies of function literals are statements
// and stay as they are.
type expander struct {
	info  *types.Info
	scope *Scope
	full  bool
	named map[string]string // import paths of the packages named, by name
	notes []string
}

func (x *expander) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.notes, text) && len(x.notes) < check.MaxErrors {
		x.notes = append(x.notes, text)
	}
}

// expr writes out an expression. That includes the conversion of a constant, but not
// that of a value to what it is assigned to, see [expander.assign].
func (x *expander) expr(e ast.Expr) ast.Expr {
	tv := x.info.Types[e]
	switch {
	case e == nil || tv.IsType():
		return e
	case tv.Value != nil:
		return x.constant(e, tv)
	}
	return x.value(e)
}

// value writes out an expression that is not a constant, or a typed constant.
func (x *expander) value(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		return x.instance(e, e, nil)
	case *ast.SelectorExpr:
		return x.selector(e)
	case *ast.ParenExpr:
		return &ast.ParenExpr{X: x.expr(e.X)}
	case *ast.CallExpr:
		return x.call(e)
	case *ast.BinaryExpr:
		return x.binary(e)
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{Op: e.Op, X: x.expr(e.X)}
	case *ast.StarExpr:
		return &ast.StarExpr{X: x.expr(e.X)}
	case *ast.IndexExpr:
		return x.index(e)
	case *ast.IndexListExpr:
		return x.instance(e.X, e, e.Indices)
	case *ast.SliceExpr:
		return &ast.SliceExpr{
			X: x.array(e.X), Low: x.plain(e.Low), High: x.plain(e.High), Max: x.plain(e.Max), Slice3: e.Slice3,
		}
	case *ast.TypeAssertExpr:
		return &ast.TypeAssertExpr{X: x.expr(e.X), Type: e.Type}
	case *ast.CompositeLit:
		return x.composite(e)
	}
	return e
}

// plain writes out an expression that is not converted because it must be an integer
// anyway, such as an index.
func (x *expander) plain(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	if tv := x.info.Types[e]; tv.Value != nil && x.untyped(e) && !x.full {
		return e
	} else if tv.Value != nil && x.full {
		if folded, ok := fold(tv); ok {
			return folded
		}
	}
	return x.expr(e)
}

// selector names the embedded fields on the path, and writes out & and *.
func (x *expander) selector(e *ast.SelectorExpr) ast.Expr {
	sel := x.info.Selections[e]
	if sel == nil { // of a package
		return x.instance(e, e, nil)
	}
	if sel.Kind() == types.MethodExpr {
		return e
	}
	at, t := x.expr(e.X), x.info.TypeOf(e.X)
	index := sel.Index()
	for _, i := range index[:len(index)-1] {
		at, t = x.follow(at, t)
		field := t.Underlying().(*types.Struct).Field(i)
		if !field.Exported() && field.Pkg().Path() != x.scope.pkg.Path() {
			x.note("the embedded field %s is unexported in package %s, so only that package can name it",
				field.Name(), field.Pkg().Path())
		}
		at, t = &ast.SelectorExpr{X: at, Sel: ast.NewIdent(field.Name())}, field.Type()
	}
	fn, isMethod := sel.Obj().(*types.Func)
	_, isPointer := t.Underlying().(*types.Pointer)
	switch {
	case !isMethod:
		at, _ = x.follow(at, t)
	case types.IsInterface(t):
	case typeutil.HasPointerReceiver(fn) && !isPointer:
		at = &ast.ParenExpr{X: &ast.UnaryExpr{Op: token.AND, X: at}}
	case !typeutil.HasPointerReceiver(fn) && isPointer:
		at, _ = x.follow(at, t)
	}
	return &ast.SelectorExpr{X: at, Sel: ast.NewIdent(e.Sel.Name)}
}

// follow dereferences a pointer. It returns other expressions as they are.
func (x *expander) follow(e ast.Expr, t types.Type) (ast.Expr, types.Type) {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return e, t
	}
	return &ast.ParenExpr{X: &ast.StarExpr{X: e}}, p.Elem()
}

// array writes out an operand and dereferences it if it is a pointer to an array.
func (x *expander) array(e ast.Expr) ast.Expr {
	if p, ok := x.info.TypeOf(e).Underlying().(*types.Pointer); ok {
		if _, ok := p.Elem().Underlying().(*types.Array); ok {
			out, _ := x.follow(x.expr(e), x.info.TypeOf(e))
			return out
		}
	}
	return x.expr(e)
}

// instance writes all type arguments of a generic function. The name may be that of a
// function or anything else; whole is the name with the arguments in the form.
func (x *expander) instance(name, whole ast.Expr, given []ast.Expr) ast.Expr {
	var id *ast.Ident
	switch name := ast.Unparen(name).(type) {
	case *ast.Ident:
		id = name
	case *ast.SelectorExpr:
		id = name.Sel
	}
	inst, ok := x.info.Instances[id]
	if _, isFunc := x.info.Uses[id].(*types.Func); !ok || !isFunc || inst.TypeArgs.Len() == len(given) {
		return whole
	}
	var args []ast.Expr
	for t := range inst.TypeArgs.Types() {
		args = append(args, x.typ(t))
	}
	return &ast.IndexListExpr{X: name, Indices: args}
}

func (x *expander) index(e *ast.IndexExpr) ast.Expr {
	t := x.info.TypeOf(e.X)
	if _, ok := t.Underlying().(*types.Signature); ok {
		return x.instance(e.X, e, []ast.Expr{e.Index})
	}
	if m, ok := t.Underlying().(*types.Map); ok {
		return &ast.IndexExpr{X: x.expr(e.X), Index: x.assign(e.Index, m.Key())}
	}
	return &ast.IndexExpr{X: x.array(e.X), Index: x.plain(e.Index)}
}

func (x *expander) binary(e *ast.BinaryExpr) ast.Expr {
	if e.Op == token.SHL || e.Op == token.SHR {
		return &ast.BinaryExpr{X: x.expr(e.X), Op: e.Op, Y: x.plain(e.Y)}
	}
	left, right := x.expr(e.X), x.expr(e.Y)
	if !compares(e.Op) {
		return &ast.BinaryExpr{X: left, Op: e.Op, Y: right}
	}
	// A comparison with an interface converts the other operand to it.
	l, r := x.info.Types[e.X], x.info.Types[e.Y]
	switch {
	case l.IsNil() || r.IsNil():
	case types.IsInterface(l.Type) && !types.IsInterface(r.Type):
		right = x.convert(l.Type, right)
	case types.IsInterface(r.Type) && !types.IsInterface(l.Type):
		left = x.convert(r.Type, left)
	}
	out := &ast.BinaryExpr{X: left, Op: e.Op, Y: right}
	if t := x.info.TypeOf(e); typed(t) && !types.Identical(t, types.Typ[types.Bool]) {
		return x.convert(t, out)
	}
	return out
}

func compares(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

// composite writes the type of a literal that takes it from the literal around it.
func (x *expander) composite(e *ast.CompositeLit) ast.Expr {
	t := x.info.TypeOf(e)
	out := &ast.CompositeLit{Type: e.Type}
	base := t
	p, isPointer := t.Underlying().(*types.Pointer)
	if isPointer {
		base = p.Elem()
	}
	if e.Type == nil {
		out.Type = x.typ(base)
	}
	for i, element := range e.Elts {
		out.Elts = append(out.Elts, x.element(base.Underlying(), element, i))
	}
	if isPointer {
		return &ast.UnaryExpr{Op: token.AND, X: out}
	}
	return out
}

func (x *expander) element(base types.Type, e ast.Expr, i int) ast.Expr {
	pair, keyed := e.(*ast.KeyValueExpr)
	value := e
	if keyed {
		value = pair.Value
	}
	var key ast.Expr
	var t types.Type
	switch base := base.(type) {
	case *types.Struct:
		if keyed {
			key, i = pair.Key, fieldNamed(base, pair.Key.(*ast.Ident).Name)
		}
		t = base.Field(i).Type()
	case *types.Map:
		key, t = x.assign(pair.Key, base.Key()), base.Elem()
	case *types.Slice:
		t = base.Elem()
	case *types.Array:
		t = base.Elem()
	}
	if keyed && key == nil {
		key = x.plain(pair.Key)
	}
	if key == nil {
		return x.assign(value, t)
	}
	return &ast.KeyValueExpr{Key: key, Value: x.assign(value, t)}
}

func fieldNamed(s *types.Struct, name string) int {
	for i := range s.NumFields() {
		if s.Field(i).Name() == name {
			return i
		}
	}
	return 0
}
