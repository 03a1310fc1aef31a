package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

func (x *expander) block(b *ast.BlockStmt) *ast.BlockStmt {
	if b == nil {
		return nil
	}
	return &ast.BlockStmt{List: x.stmts(b.List)}
}

func (x *expander) stmts(list []ast.Stmt) []ast.Stmt {
	var out []ast.Stmt
	for _, s := range list {
		out = append(out, x.stmt(s))
	}
	return out
}

func (x *expander) exprs(list []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for _, e := range list {
		out = append(out, x.expr(e))
	}
	return out
}

// stmt writes out a statement; nil stays nil.
func (x *expander) stmt(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return &ast.ExprStmt{X: x.expr(s.X)}
	case *ast.SendStmt:
		return x.send(s)
	case *ast.IncDecStmt:
		return &ast.IncDecStmt{X: x.expr(s.X), Tok: s.Tok}
	case *ast.AssignStmt:
		return x.assignment(s)
	case *ast.GoStmt:
		return &ast.GoStmt{Call: x.deferred(s.Call)}
	case *ast.DeferStmt:
		return &ast.DeferStmt{Call: x.deferred(s.Call)}
	case *ast.ReturnStmt:
		return x.result(s)
	case *ast.BlockStmt:
		return x.block(s)
	case *ast.DeclStmt:
		return x.declaration(s)
	case *ast.LabeledStmt:
		return &ast.LabeledStmt{Label: s.Label, Stmt: x.stmt(s.Stmt)}
	}
	return x.control(s)
}

// control writes out the statements that have others within.
func (x *expander) control(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.IfStmt:
		return &ast.IfStmt{Init: x.stmt(s.Init), Cond: x.expr(s.Cond), Body: x.block(s.Body), Else: x.stmt(s.Else)}
	case *ast.ForStmt:
		out := &ast.ForStmt{Init: x.stmt(s.Init), Post: x.stmt(s.Post), Body: x.block(s.Body)}
		if s.Cond != nil {
			out.Cond = x.expr(s.Cond)
		}
		return out
	case *ast.RangeStmt:
		out := *s
		if x.info.Types[s.X].Value != nil {
			out.X = x.plain(s.X)
		} else {
			out.X = x.array(s.X)
		}
		out.Body = x.block(s.Body)
		return &out
	case *ast.SwitchStmt:
		out := &ast.SwitchStmt{Init: x.stmt(s.Init), Body: x.block(s.Body)}
		if s.Tag != nil {
			out.Tag = x.expr(s.Tag)
		}
		return out
	case *ast.TypeSwitchStmt:
		return &ast.TypeSwitchStmt{Init: x.stmt(s.Init), Assign: x.stmt(s.Assign), Body: x.block(s.Body)}
	case *ast.CaseClause:
		return &ast.CaseClause{List: x.exprs(s.List), Body: x.stmts(s.Body)}
	case *ast.SelectStmt:
		return &ast.SelectStmt{Body: x.block(s.Body)}
	case *ast.CommClause:
		return &ast.CommClause{Comm: x.stmt(s.Comm), Body: x.stmts(s.Body)}
	}
	return s
}

func (x *expander) send(s *ast.SendStmt) ast.Stmt {
	var t types.Type
	if ch, ok := x.info.TypeOf(s.Chan).Underlying().(*types.Chan); ok {
		t = ch.Elem()
	}
	return &ast.SendStmt{Chan: x.expr(s.Chan), Value: x.assign(s.Value, t)}
}

// deferred is the call of a go or defer statement, which must stay one.
func (x *expander) deferred(e *ast.CallExpr) *ast.CallExpr {
	if call, ok := x.value(e).(*ast.CallExpr); ok {
		return call
	}
	return e
}

func (x *expander) assignment(s *ast.AssignStmt) ast.Stmt {
	out := &ast.AssignStmt{Tok: s.Tok}
	for _, e := range s.Lhs {
		if id, ok := e.(*ast.Ident); ok {
			out.Lhs = append(out.Lhs, id)
		} else {
			out.Lhs = append(out.Lhs, x.expr(e))
		}
	}
	if len(s.Lhs) != len(s.Rhs) {
		out.Rhs = x.exprs(s.Rhs)
		return out
	}
	for i, e := range s.Rhs {
		switch {
		case s.Tok == token.SHL_ASSIGN || s.Tok == token.SHR_ASSIGN:
			out.Rhs = append(out.Rhs, x.plain(e))
		case s.Tok != token.ASSIGN && s.Tok != token.DEFINE:
			out.Rhs = append(out.Rhs, x.expr(e))
		default:
			out.Rhs = append(out.Rhs, x.assign(e, x.destination(s.Lhs[i])))
		}
	}
	return out
}

// destination is the type of what is assigned to; nil: it has the value's.
func (x *expander) destination(e ast.Expr) types.Type {
	if id, ok := e.(*ast.Ident); ok && (id.Name == "_" || x.info.Defs[id] != nil) {
		return nil
	}
	return x.info.TypeOf(e)
}

func (x *expander) result(s *ast.ReturnStmt) ast.Stmt {
	if len(x.within) == 0 {
		return s
	}
	want := x.within[len(x.within)-1].Results()
	if len(s.Results) != want.Len() {
		return &ast.ReturnStmt{Results: x.exprs(s.Results)}
	}
	out := &ast.ReturnStmt{}
	for i, e := range s.Results {
		var t types.Type
		if _, several := x.info.TypeOf(e).(*types.Tuple); !several {
			t = want.At(i).Type()
		}
		out.Results = append(out.Results, x.assign(e, t))
	}
	return out
}

// declaration writes out the values of variables; a constant is what it is.
func (x *expander) declaration(s *ast.DeclStmt) ast.Stmt {
	decl, ok := s.Decl.(*ast.GenDecl)
	if !ok || decl.Tok != token.VAR {
		return s
	}
	out := &ast.GenDecl{Tok: decl.Tok, Lparen: decl.Lparen, Rparen: decl.Rparen}
	for _, spec := range decl.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		one := &ast.ValueSpec{Names: v.Names, Type: v.Type}
		for _, e := range v.Values {
			var t types.Type
			if v.Type != nil && len(v.Values) == len(v.Names) {
				t = x.info.TypeOf(v.Type)
			}
			one.Values = append(one.Values, x.assign(e, t))
		}
		out.Specs = append(out.Specs, one)
	}
	return &ast.DeclStmt{Decl: out}
}
