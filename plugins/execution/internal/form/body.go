package form

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
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
	// Lost are the variables that the last statement defines or sets, if it is not an
	// expression, and Set those of other code that any statement sets: their values are
	// gone after the form.
	Lost, Set []string
	Uses      Uses

	qualifiers qualifiers
}

// Unqualify drops the qualifiers of a name from the text: name.X becomes X, in its place.
func (b *Body) Unqualify(name string) { b.Text = b.qualifiers.drop(name, b.Text) }

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
	b := &Body{Text: text}
	b.Uses, b.qualifiers = findUses(fset, file, fn, len(prefix))
	for _, s := range statements {
		b.define(s)
	}
	b.findLost(file, fn)
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

// findLost finds the variables whose values are gone after the form.
func (b *Body) findLost(file *ast.File, fn *ast.FuncDecl) {
	free := map[*ast.Ident]bool{}
	for _, id := range file.Unresolved {
		free[id] = true
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		for _, id := range assigned(n) {
			if free[id] && !slices.Contains(b.Set, id.Name) {
				b.Set = append(b.Set, id.Name)
			}
		}
		return true
	})
	last := fn.Body.List
	for len(last) > 0 && isEmpty(last[len(last)-1]) {
		last = last[:len(last)-1]
	}
	only := &Body{}
	only.define(last[len(last)-1])
	b.Lost = only.Defined
	for _, id := range assigned(last[len(last)-1]) {
		if id.Name != "_" && !slices.Contains(b.Lost, id.Name) {
			b.Lost = append(b.Lost, id.Name)
		}
	}
}

// assigned returns the variables that a statement sets, itself or a part of them.
func assigned(n ast.Node) (out []*ast.Ident) {
	var targets []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			targets = n.Lhs
		}
	case *ast.IncDecStmt:
		targets = []ast.Expr{n.X}
	}
	for _, t := range targets {
		for root := false; !root; {
			switch x := t.(type) {
			case *ast.SelectorExpr:
				t = x.X
			case *ast.IndexExpr:
				t = x.X
			case *ast.ParenExpr:
				t = x.X
			case *ast.StarExpr:
				t = x.X
			case *ast.Ident:
				out, root = append(out, x), true
			default:
				root = true
			}
		}
	}
	return out
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
