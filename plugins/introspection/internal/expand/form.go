package expand

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"

	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
)

const (
	// MaxForm bounds a form, in bytes.
	MaxForm = 64 << 10
	// maxDepth bounds how deep a form's expressions are nested: the type checker is
	// recursive.
	maxDepth = 500
)

// Form is a Go expression that a caller gave, parsed.
type Form struct {
	fset *token.FileSet
	expr ast.Expr
	free []freeName
}

// freeName is a name that a form uses and does not declare.
type freeName struct {
	name string
	// The names that are selected from it. It is nil if the name is also used without
	// a selector, so that it cannot be a package.
	selected []string
}

// Parse parses a form.
//
// # Errors
//
// A plain error for a form that is not an expression, too long, or nested too deep.
func Parse(src string) (*Form, error) {
	if len(src) > MaxForm {
		return nil, fmt.Errorf("the form has %d bytes, more than the %d that are allowed; give the part that matters",
			len(src), MaxForm)
	}
	f := &Form{fset: token.NewFileSet()}
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
	if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
		err = fmt.Errorf("%d:%d: %s", list[0].Pos.Line, list[0].Pos.Column, list[0].Msg)
	}
	return fmt.Errorf("the form is not a Go expression: %w; macroexpand_form expands expressions such as f(x, 1), "+
		"not statements: to expand x := f(y), give f(y)", err)
}

// depth returns how deep a tree is.
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

// freeNames returns the names that an expression uses and does not declare, except
// predeclared ones. It leaves out the keys of composite literals, because most are
// names of fields.
func freeNames(src string) []freeName {
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
	var out []freeName
	at := map[string]int{}
	for _, id := range file.Unresolved {
		if keys[id] || types.Universe.Lookup(id.Name) != nil || id.Name == "_" {
			continue
		}
		i, known := at[id.Name]
		if !known {
			i = len(out)
			at[id.Name] = i
			out = append(out, freeName{name: id.Name, selected: []string{}})
		}
		if sel, ok := selected[id]; ok && out[i].selected != nil {
			out[i].selected = append(out[i].selected, sel)
		} else {
			out[i].selected = nil
		}
	}
	return out
}

// message formats an error of the type checker, with line and column in the form.
func (f *Form) message(err error) string {
	var e types.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	p := f.fset.Position(e.Pos)
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, e.Msg)
}

// choose returns the package that a form means by a name: the one that has all that
// the form selects from it.
func (f *Form) choose(name string, candidates []*types.Package) (*types.Package, error) {
	i := slices.IndexFunc(f.free, func(n freeName) bool { return n.name == name })
	if len(candidates) == 1 || i < 0 {
		return candidates[0], nil
	}
	var fit, known []string
	var found *types.Package
	for _, p := range candidates {
		known = append(known, p.Path())
		if !slices.ContainsFunc(f.free[i].selected, func(sel string) bool { return p.Scope().Lookup(sel) == nil }) {
			fit, found = append(fit, p.Path()), p
		}
	}
	switch len(fit) {
	case 1:
		return found, nil
	case 0:
		fit = known
	}
	return nil, lookup.Ambiguous("package", name, fit)
}
