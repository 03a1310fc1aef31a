package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// body is the part of a form that runs once.
type body struct {
	text string // as long as the form, with blanks where declarations were
	// value is where the expression stands whose value is the form's; none
	// where start is end.
	value   span
	isNil   bool // the expression is nil, which has no type
	defined []string
	uses    map[string]map[string]bool
}

type span struct{ start, end int }

const bodyFunc = "toolhostBody"

// parseBody parses what is left of a form without its declarations; nil: nothing.
func (f *form) parseBody(text string) (*body, error) {
	fset := token.NewFileSet()
	prefix := "package p\nfunc " + bodyFunc + "() {\n" + directive(f.number, position{1, 1})
	file, err := parser.ParseFile(fset, "", prefix+text+"\n}\n", 0)
	if err != nil {
		return nil, parseProblems(err, f)
	}
	fn, ok := file.Decls[0].(*ast.FuncDecl)
	if len(file.Decls) != 1 || !ok || fset.File(fn.Pos()).Offset(fn.End()) != len(prefix+text)+2 {
		return nil, fmt.Errorf("the form has a } that closes nothing; remove it")
	}
	statements := fn.Body.List
	for len(statements) > 0 && isEmpty(statements[len(statements)-1]) {
		statements = statements[:len(statements)-1]
	}
	if len(statements) == 0 {
		return nil, nil
	}
	b := &body{text: text, uses: uses(file, fn)}
	offset := func(p token.Pos) int { return fset.File(p).Offset(p) - len(prefix) }
	for _, s := range statements {
		b.define(s)
	}
	if last, ok := statements[len(statements)-1].(*ast.ExprStmt); ok {
		b.value = span{offset(last.X.Pos()), offset(last.X.End())}
		id, ok := ast.Unparen(last.X).(*ast.Ident)
		b.isNil = ok && id.Name == "nil"
	}
	return b, nil
}

func isEmpty(s ast.Stmt) bool {
	_, ok := s.(*ast.EmptyStmt)
	return ok
}

// define notes the variables that a statement defines. They are used at the end
// of the body: somebody who tries x := f() wants to know whether it works, not
// that x is unused.
func (b *body) define(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			for _, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok && id.Name != "_" {
					b.defined = append(b.defined, id.Name)
				}
			}
		}
	case *ast.DeclStmt:
		decl := s.Decl.(*ast.GenDecl)
		for _, spec := range decl.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
				for _, id := range v.Names {
					if id.Name != "_" {
						b.defined = append(b.defined, id.Name)
					}
				}
			}
		}
	}
}

// ours ends a form's text for the compiler.
const (
	ours      = "/*line " + ourPrefix + "start.go:1:1*/"
	ourPrefix = "/toolhost/"
)

// code is the body's function. Asked to show, the last expression's values are.
func (b *body) code(number int, show bool) string {
	var out strings.Builder
	out.WriteString("func " + bodyFunc + "() {\n" + directive(number, position{1, 1}))
	if show && b.value.start < b.value.end {
		expr := b.text[b.value.start:b.value.end]
		if b.isNil {
			expr = "any(nil)"
		}
		out.WriteString(b.text[:b.value.start])
		out.WriteString(showFunc + "(" + directive(number, place(b.text, b.value.start)) + expr)
		out.WriteString(directive(number, place(b.text, b.value.end)) + ")")
		out.WriteString(b.text[b.value.end:])
	} else {
		out.WriteString(b.text)
	}
	out.WriteString("\n" + ours)
	for _, name := range b.defined {
		fmt.Fprintf(&out, "_ = %s\n", name)
	}
	out.WriteString("}\n")
	return out.String()
}
