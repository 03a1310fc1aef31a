package main

import (
	"go/ast"
	"maps"
	"slices"
)

// unit is one declaration that can be replaced by itself.
type unit struct {
	names   []string // what it declares; a method as Type.Method
	keyword string   // to go in front: "var ", "type ", or empty
	text    string
	form    int // the number of the form that it came in
	at      position
	runs    bool     // it has an initializer, which runs with each form
	values  []string // the variables and constants that it declares
	uses    map[string]map[string]bool
	imports map[string]string // name to path, chosen when it was compiled
}

func (s source) unit(keyword string, n ast.Node) *unit {
	u := &unit{keyword: keyword, text: s.cut(n), form: s.form.number, at: s.at(n.Pos()), uses: uses(s.file, n)}
	switch n := n.(type) {
	case *ast.FuncDecl:
		u.names = []string{funcName(n)}
		u.runs = n.Recv == nil && n.Name.Name == "init"
	case *ast.TypeSpec:
		u.names = []string{n.Name.Name}
	case *ast.ValueSpec:
		u.addValues(n)
		u.runs = len(n.Values) > 0
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				u.addValues(v)
			}
		}
	}
	return u
}

func (u *unit) addValues(spec *ast.ValueSpec) {
	for _, n := range spec.Names {
		if n.Name != "_" {
			u.names, u.values = append(u.names, n.Name), append(u.values, n.Name)
		}
	}
}

// isMain says that the unit is the main function of a whole program, which is to
// be run rather than kept.
func (u *unit) isMain() bool {
	return u.keyword == "" && slices.Equal(u.names, []string{"main"}) && len(u.values) == 0
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return "?." + d.Name.Name
		}
	}
}

// uses are the names that a piece of code does not declare itself, and for each
// what is selected from it: all that says which package is meant.
func uses(file *ast.File, n ast.Node) map[string]map[string]bool {
	free := map[*ast.Ident]bool{}
	for _, id := range file.Unresolved {
		free[id] = true
	}
	out := map[string]map[string]bool{}
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

// replace puts new units in place of those that declare the same names, and gives
// what was dropped with them without being declared anew.
func replace(kept, added []*unit) (out []*unit, lost []string) {
	fresh := map[string]bool{}
	for _, u := range added {
		for _, n := range u.names {
			fresh[n] = true
		}
	}
	dropped := map[string]bool{}
	for _, u := range kept {
		if !slices.ContainsFunc(u.names, func(n string) bool { return fresh[n] }) {
			out = append(out, u)
			continue
		}
		for _, n := range u.names {
			if !fresh[n] {
				dropped[n] = true
			}
		}
	}
	return append(out, added...), slices.Sorted(maps.Keys(dropped))
}

// names are what units declare, in order, without the blank ones.
func names(units []*unit) []string {
	out := []string{}
	for _, u := range units {
		out = append(out, u.names...)
	}
	return out
}
