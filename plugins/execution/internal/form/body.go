package form

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
)

// Body is the part of a form that runs once.
type Body struct {
	Text string // as long as the form, with blanks in place of declarations
	// ValueStart and ValueEnd delimit the expression in Text whose value is the
	// form's; they are equal if there is none.
	ValueStart, ValueEnd int
	IsNil                bool // the expression is nil, which has no type
	// Defined are the variables that the body defines. The program uses them at
	// the end: a caller that tries x := f() wants to know whether it works, not
	// that x is unused.
	Defined []string
	Uses    Uses
}

// HasValue reports whether the body ends with an expression.
func (b *Body) HasValue() bool { return b.ValueStart < b.ValueEnd }

// parseBody parses a form without its declarations; nil means there is no body.
func (f *Form) parseBody(text string) (*Body, error) {
	fset := token.NewFileSet()
	prefix := "package p\nfunc _() {\n" + Directive(f.Number, Position{1, 1})
	file, err := parser.ParseFile(fset, "", prefix+text+"\n}\n", 0)
	if err != nil {
		return nil, f.syntaxProblems(err)
	}
	fn, ok := file.Decls[0].(*ast.FuncDecl)
	if len(file.Decls) != 1 || !ok || fset.File(fn.Pos()).Offset(fn.End()) != len(prefix+text)+2 {
		return nil, errors.New("the form has a } that closes nothing; remove it")
	}
	statements := fn.Body.List
	for len(statements) > 0 && isEmpty(statements[len(statements)-1]) {
		statements = statements[:len(statements)-1]
	}
	if len(statements) == 0 {
		return nil, nil
	}
	b := &Body{Text: text, Uses: findUses(file, fn)}
	for _, s := range statements {
		b.define(s)
	}
	if last, ok := statements[len(statements)-1].(*ast.ExprStmt); ok {
		offset := func(p token.Pos) int { return fset.File(p).Offset(p) - len(prefix) }
		b.ValueStart, b.ValueEnd = offset(last.X.Pos()), offset(last.X.End())
		id, ok := ast.Unparen(last.X).(*ast.Ident)
		b.IsNil = ok && id.Name == "nil"
	}
	return b, nil
}

func isEmpty(s ast.Stmt) bool {
	_, ok := s.(*ast.EmptyStmt)
	return ok
}

// define adds the variables that a statement defines.
func (b *Body) define(s ast.Stmt) {
	var names []*ast.Ident
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, l := range s.Lhs {
			if id, ok := l.(*ast.Ident); ok && s.Tok == token.DEFINE {
				names = append(names, id)
			}
		}
	case *ast.DeclStmt:
		decl := s.Decl.(*ast.GenDecl)
		for _, spec := range decl.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
				names = append(names, v.Names...)
			}
		}
	}
	for _, id := range names {
		if id.Name != "_" {
			b.Defined = append(b.Defined, id.Name)
		}
	}
}
