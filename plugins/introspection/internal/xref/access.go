package xref

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Access is what a use does with a symbol.
type Access uint8

// The accesses.
const (
	Read      Access = iota // a variable's, constant's or function's value is used
	Write                   // assigned, or set in a composite literal
	Update                  // read and written: x++, x += 1
	Address                 // its address is taken, by & or by a method with a pointer receiver
	Type                    // a type is named
	Call                    // a function is called
	GoCall                  // the same in a go statement
	DeferCall               // the same in a defer statement
)

var accessNames = [...]string{
	Read: "read", Write: "write", Update: "read_write", Address: "address",
	Type: "type", Call: "call", GoCall: "call", DeferCall: "call",
}

// String returns read, write, read_write, address, type or call.
func (a Access) String() string { return accessNames[a] }

// IsCall reports whether a function is called.
func (a Access) IsCall() bool { return a >= Call }

// place is a position in the syntax.
type place struct {
	info  *types.Info
	expr  ast.Expr   // the identifier that is used, or the selector that ends in it
	stack []ast.Node // the nodes around it, outermost first
}

// newPlace returns the place of an identifier: that of the whole selector for the
// identifier in p.X or x.f.
func newPlace(info *types.Info, id *ast.Ident, stack []ast.Node) place {
	p := place{info: info, expr: id, stack: stack}
	if sel, ok := p.parent().(*ast.SelectorExpr); ok && sel.Sel == id {
		p = p.up(sel)
	}
	return p.unparen()
}

func (p place) parent() ast.Node {
	if len(p.stack) == 0 {
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// up returns the place of the expression around this one.
func (p place) up(e ast.Expr) place {
	p.expr, p.stack = e, p.stack[:len(p.stack)-1]
	return p
}

func (p place) unparen() place {
	for {
		paren, ok := p.parent().(*ast.ParenExpr)
		if !ok {
			return p
		}
		p = p.up(paren)
	}
}

// accessOf returns what is done with an object at a place.
func accessOf(obj types.Object, p place) Access {
	switch obj := obj.(type) {
	case *types.TypeName:
		return Type
	case *types.Func, *types.Builtin:
		return p.called()
	case *types.Var:
		return p.variable(obj)
	}
	return Read
}

// called distinguishes calls of a function from other uses.
func (p place) called() Access {
	switch outer := p.parent().(type) {
	case *ast.IndexExpr:
		if outer.X == p.expr {
			p = p.up(outer).unparen()
		}
	case *ast.IndexListExpr:
		if outer.X == p.expr {
			p = p.up(outer).unparen()
		}
	}
	call, ok := p.parent().(*ast.CallExpr)
	if !ok || call.Fun != p.expr {
		return Read
	}
	switch p.up(call).parent().(type) {
	case *ast.GoStmt:
		return GoCall
	case *ast.DeferStmt:
		return DeferCall
	}
	return Call
}

// variable follows a variable outwards through the parts that are selected from it,
// because a write to x.f, or to x[i] of an array, is a write to x.
func (p place) variable(obj *types.Var) Access {
	if kv, ok := p.parent().(*ast.KeyValueExpr); ok && kv.Key == p.expr && obj.IsField() {
		return Write // a key of a map or an array is a field only after a selector
	}
	for {
		whole, a, ok := p.part()
		if !ok {
			return p.statement()
		}
		if a != Read {
			return a
		}
		p = whole.unparen()
	}
}

// part goes from an expression to the next one outwards if that is a part of the same
// variable, which ok says. The access is Address if the step takes one.
func (p place) part() (place, Access, bool) {
	switch outer := p.parent().(type) {
	case *ast.SelectorExpr:
		sel := p.info.Selections[outer]
		if sel == nil || outer.X != p.expr {
			return p, Read, false
		}
		if sel.Kind() == types.MethodVal {
			fn, ok := sel.Obj().(*types.Func)
			// If a pointer is followed on the way, the method does not get the address
			// of this variable.
			if ok && typeutil.HasPointerReceiver(fn) && !sel.Indirect() && !isPointer(p.info.TypeOf(p.expr)) {
				return p, Address, true
			}
			return p, Read, false
		}
		return p.up(outer), Read, !sel.Indirect()
	case *ast.IndexExpr:
		if outer.X == p.expr && isArray(p.info.TypeOf(p.expr)) {
			return p.up(outer), Read, true
		}
	case *ast.SliceExpr:
		if outer.X == p.expr && isArray(p.info.TypeOf(p.expr)) {
			return p, Address, true
		}
	}
	return p, Read, false
}

// statement returns what the statement or operator around an expression does to it.
func (p place) statement() Access {
	switch outer := p.parent().(type) {
	case *ast.AssignStmt:
		for _, left := range outer.Lhs {
			switch {
			case left != p.expr:
			case outer.Tok == token.ASSIGN, outer.Tok == token.DEFINE:
				return Write
			default:
				return Update
			}
		}
	case *ast.IncDecStmt:
		return Update
	case *ast.RangeStmt:
		if outer.Key == p.expr || outer.Value == p.expr {
			return Write
		}
	case *ast.UnaryExpr:
		if outer.Op == token.AND {
			return Address
		}
	}
	return Read
}

func isPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isArray(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Array)
	return ok
}
