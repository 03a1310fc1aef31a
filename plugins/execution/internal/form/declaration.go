package form

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Declaration is a declaration that a later one of the same name replaces.
type Declaration struct {
	Names    []string // what it declares; a method as Type.Method
	Values   []string // those of Names that are variables or constants
	Keyword  string   // to put before Text: "var ", "type ", or empty
	Text     string
	Form     int // the number of its form
	Position Position
	Runs     bool // it has an initializer, which runs with each form
	Uses     Uses
	Imports  map[string]string // name to path, chosen when it was compiled
}

// Uses has the names that a piece of code does not declare itself, and what it
// selects from each: together they tell which packages are meant.
type Uses map[string]map[string]bool

func (s source) declaration(keyword string, n ast.Node) *Declaration {
	d := &Declaration{
		Keyword: keyword, Text: s.cut(n), Form: s.form.Number, Position: s.position(n.Pos()), Uses: findUses(s.file, n),
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		d.Names = []string{gocode.FuncName(n)}
		d.Runs = n.Recv == nil && n.Name.Name == "init"
	case *ast.TypeSpec:
		d.Names = []string{n.Name.Name}
	case *ast.ValueSpec:
		d.addValues(n)
		d.Runs = len(n.Values) > 0
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				d.addValues(v)
			}
		}
	}
	return d
}

func (d *Declaration) addValues(spec *ast.ValueSpec) {
	for _, n := range spec.Names {
		if n.Name != "_" {
			d.Names, d.Values = append(d.Names, n.Name), append(d.Values, n.Name)
		}
	}
}

// IsMain reports whether d is the main function of a whole program, which runs
// instead of being kept.
func (d *Declaration) IsMain() bool {
	return d.Keyword == "" && slices.Equal(d.Names, []string{"main"}) && len(d.Values) == 0
}

func findUses(file *ast.File, n ast.Node) Uses {
	free := map[*ast.Ident]bool{}
	for _, id := range file.Unresolved {
		free[id] = true
	}
	out := Uses{}
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && free[id] {
			if out[id.Name] == nil {
				out[id.Name] = map[string]bool{}
			}
			out[id.Name][sel.Sel.Name] = true
		}
		return true
	})
	return out
}

// Replace returns the kept declarations with the added ones, which replace those
// that declare the same names. It also returns the names that would be lost:
// those declared together with a replaced one and not declared again.
func Replace(kept, added []*Declaration) (out []*Declaration, lost []string) {
	fresh := map[string]bool{}
	for _, n := range Names(added) {
		fresh[n] = true
	}
	dropped := map[string]bool{}
	for _, d := range kept {
		if !slices.ContainsFunc(d.Names, func(n string) bool { return fresh[n] }) {
			out = append(out, d)
			continue
		}
		for _, n := range d.Names {
			if !fresh[n] {
				dropped[n] = true
			}
		}
	}
	return append(out, added...), slices.Sorted(maps.Keys(dropped))
}

// Names returns the names that declarations declare, in order.
func Names(declarations []*Declaration) []string {
	out := []string{}
	for _, d := range declarations {
		out = append(out, d.Names...)
	}
	return out
}
