package form

import (
	"go/ast"
	"maps"
	"slices"
	"strings"

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

	qualifiers qualifiers
}

func (s source) declaration(keyword string, n ast.Node) *Declaration {
	d := &Declaration{
		Keyword: keyword, Text: s.cut(n), Form: s.form.Number, Position: s.position(n.Pos()),
	}
	d.Uses, d.qualifiers = findUses(s.fset, s.file, n, s.offset(n.Pos()))
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

// Unqualify drops the qualifiers of a name from the text: name.X becomes X, in its place.
func (d *Declaration) Unqualify(name string) { d.Text = d.qualifiers.drop(name, d.Text) }

// IsInit reports whether d is an init function.
func (d *Declaration) IsInit() bool {
	return d.Runs && slices.Equal(d.Names, []string{"init"}) && len(d.Values) == 0
}

// IsMain reports whether d is the main function of a whole program, which runs
// instead of being kept.
func (d *Declaration) IsMain() bool {
	return d.Keyword == "" && slices.Equal(d.Names, []string{"main"}) && len(d.Values) == 0
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

// Forget returns the declarations without those of some names, and of the methods of types
// among them. It also returns the names that would be lost because they were declared
// together with one of them.
func Forget(kept []*Declaration, names map[string]bool) (out []*Declaration, lost []string) {
	forgotten := func(n string) bool {
		of, _, _ := strings.Cut(n, ".")
		return names[n] || names[of]
	}
	for _, d := range kept {
		if !slices.ContainsFunc(d.Names, forgotten) {
			out = append(out, d)
			continue
		}
		lost = append(lost, slices.DeleteFunc(slices.Clone(d.Names), forgotten)...)
	}
	return out, lost
}

// Names returns the names that declarations declare, in order.
func Names(declarations []*Declaration) []string {
	out := []string{}
	for _, d := range declarations {
		out = append(out, d.Names...)
	}
	return out
}
