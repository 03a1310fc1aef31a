package form

import (
	"go/ast"
	"go/token"
	"strings"
)

// Uses has the names that a piece of code does not declare itself, and what it
// selects from each: together they tell which packages are meant.
type Uses map[string]map[string]bool

// qualifiers are where a text selects from names that it does not declare: from the
// beginning of the name to what is selected.
type qualifiers map[string][]span

type span struct{ start, end int }

// findUses returns the uses in a node of a file, whose text begins at an offset.
func findUses(fset *token.FileSet, file *ast.File, n ast.Node, begin int) (Uses, qualifiers) {
	free := map[*ast.Ident]bool{}
	for _, id := range file.Unresolved {
		free[id] = true
	}
	uses, where := Uses{}, qualifiers{}
	offset := func(p token.Pos) int { return fset.File(p).Offset(p) - begin }
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && free[id] {
			if uses[id.Name] == nil {
				uses[id.Name] = map[string]bool{}
			}
			uses[id.Name][sel.Sel.Name] = true
			where[id.Name] = append(where[id.Name], span{offset(id.Pos()), offset(sel.Sel.Pos())})
		}
		return true
	})
	return uses, where
}

// drop replaces the qualifiers of a name by spaces, so that positions stay.
func (q qualifiers) drop(name, text string) string {
	for _, at := range q[name] {
		text = text[:at.start] + strings.Repeat(" ", at.end-at.start) + text[at.end:]
	}
	return text
}
