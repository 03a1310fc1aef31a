package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
)

const (
	// maxForm bounds a form, in bytes.
	maxForm = 64 << 10
	// maxDepth bounds how deep a form's expressions lie within each other: the
	// type checker goes down in recursion.
	maxDepth = 500
)

// form is a Go expression that a caller gave, parsed.
type form struct {
	fset *token.FileSet
	expr ast.Expr
	free []free
}

// free is a name that the form uses and does not declare.
type free struct {
	name string
	// The names that are selected from it everywhere; nil where it stands for
	// itself somewhere, so that it cannot be a package.
	selected []string
}

func parseForm(src string) (*form, error) {
	if len(src) > maxForm {
		return nil, fmt.Errorf("the form has %d bytes, more than the %d that are taken; give the part that matters", len(src), maxForm)
	}
	f := &form{fset: token.NewFileSet()}
	var err error
	if f.expr, err = parser.ParseExprFrom(f.fset, "", src, parser.SkipObjectResolution); err != nil {
		return nil, notAnExpression(err)
	}
	if depth(f.expr) > maxDepth {
		return nil, fmt.Errorf("the form is nested more than %d deep; give the part that matters", maxDepth)
	}
	f.free = freeNames(src)
	return f, nil
}

func notAnExpression(err error) error {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		err = fmt.Errorf("%d:%d: %s", list[0].Pos.Line, list[0].Pos.Column, list[0].Msg)
	}
	return fmt.Errorf("the form is not a Go expression: %w; macroexpand_form expands expressions such as f(x, 1), "+
		"not statements: to expand x := f(y), give f(y)", err)
}

// depth is how deep a tree is.
func depth(n ast.Node) int {
	now, deepest := 0, 0
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			now--
		} else {
			now++
			deepest = max(deepest, now)
		}
		return deepest <= maxDepth
	})
	return deepest
}

// freeNames are the names that an expression uses and does not declare itself,
// but for those that the language declares. Keys of composite literals are left
// out, as most are names of fields.
func freeNames(src string) []free {
	const head = "package p; var _ = "
	file, err := parser.ParseFile(token.NewFileSet(), "", head+src, 0)
	if err != nil {
		return nil
	}
	keys, selected := map[*ast.Ident]bool{}, map[*ast.Ident]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := pair.Key.(*ast.Ident); ok {
						keys[id] = true
					}
				}
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok {
				selected[id] = n.Sel.Name
			}
		}
		return true
	})
	var out []free
	at := map[string]int{}
	for _, id := range file.Unresolved {
		if keys[id] || types.Universe.Lookup(id.Name) != nil || id.Name == "_" {
			continue
		}
		i, known := at[id.Name]
		if !known {
			i = len(out)
			at[id.Name] = i
			out = append(out, free{name: id.Name, selected: []string{}})
		}
		if sel, ok := selected[id]; ok && out[i].selected != nil {
			out[i].selected = append(out[i].selected, sel)
		} else {
			out[i].selected = nil
		}
	}
	return out
}

// complaint is what the type checker has against a form, with line and column
// as in the form.
func (f *form) complaint(err error) string {
	var e types.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	p := f.fset.Position(e.Pos)
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, e.Msg)
}
