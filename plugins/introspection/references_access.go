package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// access is what is done with a symbol where it is named.
type access uint8

const (
	accessRead    access = iota // a variable's, constant's or function's value is used
	accessWrite                 // assigned, or set in a composite literal
	accessUpdate                // read and written: x++, x += 1
	accessAddress               // its address is taken, by & or by a method with a pointer receiver
	accessType                  // a type is named
	accessCall                  // a function is called
	accessGo                    // the same in a go statement
	accessDefer                 // the same in a defer statement
)

var accessNames = [...]string{
	accessRead: "read", accessWrite: "write", accessUpdate: "read_write", accessAddress: "address",
	accessType: "type", accessCall: "call", accessGo: "call", accessDefer: "call",
}

func (a access) String() string { return accessNames[a] }

func (a access) calls() bool { return a >= accessCall }

// place is where in the syntax an identifier stands.
type place struct {
	info  *types.Info
	expr  ast.Expr   // what is used: the identifier, or the selector that ends in it
	stack []ast.Node // what it stands in, outermost first
}

// newPlace finds the expression that a use is of: for the identifier in p.X or
// x.f the whole selector.
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

// up is the place of the expression around this one.
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

// accessOf says what is done with an object at a place.
func accessOf(obj types.Object, p place) access {
	switch obj := obj.(type) {
	case *types.TypeName:
		return accessType
	case *types.Func, *types.Builtin:
		return p.called()
	case *types.Var:
		return p.variable(obj)
	}
	return accessRead
}

// called tells a call of a function from other uses of it.
func (p place) called() access {
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
		return accessRead
	}
	switch p.up(call).parent().(type) {
	case *ast.GoStmt:
		return accessGo
	case *ast.DeferStmt:
		return accessDefer
	}
	return accessCall
}

// variable follows a variable outwards through the parts of it that are named,
// as a write to x.f or x[i] of an array is one to x.
func (p place) variable(obj *types.Var) access {
	if kv, ok := p.parent().(*ast.KeyValueExpr); ok && kv.Key == p.expr && obj.IsField() {
		return accessWrite // a key of a map or an array is a field only behind a selector
	}
	for {
		whole, a, ok := p.part()
		if !ok {
			return p.statement()
		}
		if a != accessRead {
			return a
		}
		p = whole.unparen()
	}
}

// part goes from an expression to the part of it that the next one outwards is;
// ok is false where that is no part of the same variable. The access is an
// address where the step takes one.
func (p place) part() (place, access, bool) {
	switch outer := p.parent().(type) {
	case *ast.SelectorExpr:
		sel := p.info.Selections[outer]
		if sel == nil || outer.X != p.expr {
			return p, accessRead, false
		}
		if sel.Kind() == types.MethodVal {
			fn, ok := sel.Obj().(*types.Func)
			// Where a pointer is followed on the way, it is not this variable's
			// address that the method gets.
			if ok && hasPointerReceiver(fn) && !sel.Indirect() && !isPointer(p.info.TypeOf(p.expr)) {
				return p, accessAddress, true
			}
			return p, accessRead, false
		}
		return p.up(outer), accessRead, !sel.Indirect()
	case *ast.IndexExpr:
		if outer.X == p.expr && isArray(p.info.TypeOf(p.expr)) {
			return p.up(outer), accessRead, true
		}
	case *ast.SliceExpr:
		if outer.X == p.expr && isArray(p.info.TypeOf(p.expr)) {
			return p, accessAddress, true
		}
	}
	return p, accessRead, false
}

// statement says what the statement or operator around an expression does to it.
func (p place) statement() access {
	switch outer := p.parent().(type) {
	case *ast.AssignStmt:
		for _, left := range outer.Lhs {
			switch {
			case left != p.expr:
			case outer.Tok == token.ASSIGN, outer.Tok == token.DEFINE:
				return accessWrite
			default:
				return accessUpdate
			}
		}
	case *ast.IncDecStmt:
		return accessUpdate
	case *ast.RangeStmt:
		if outer.Key == p.expr || outer.Value == p.expr {
			return accessWrite
		}
	case *ast.UnaryExpr:
		if outer.Op == token.AND {
			return accessAddress
		}
	}
	return accessRead
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
