package expand

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Expansion is a form with nothing left unsaid.
type Expansion struct {
	Text    string
	Type    string            // several values are in parentheses
	Value   string            // of a constant
	Imports map[string]string // import paths of the packages that the text names, by name
	Notes   []string          // why the text does not compile
}

// maxExpansion bounds the text of an expansion, in bytes.
const maxExpansion = 32 << 10

// maxNotes bounds the notes on an expansion.
const maxNotes = 20

// check type-checks a form.
func (s *Scope) check(f *Form) (*types.Info, error) {
	s.open(f)
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	if err := types.CheckExpr(f.fset, s.pkg, f.expr.Pos(), f.expr, info); err != nil {
		return nil, s.explain(f, err)
	}
	for _, tv := range info.Types {
		if tv.Type == types.Typ[types.Invalid] && !tv.IsBuiltin() {
			return nil, fmt.Errorf("the form uses something that does not compile%s", s.firstError())
		}
	}
	return info, nil
}

// explain adds the nearest names to the type checker's error for a name that does not
// exist.
func (s *Scope) explain(f *Form, err error) error {
	text := f.message(err)
	_, missing, ok := strings.Cut(text, "undefined: ")
	if !ok {
		return errors.New("the form does not compile: " + text + s.firstError())
	}
	pkg, name, qualified := strings.Cut(missing, ".")
	names := s.pkg.Scope().Names()
	if p := s.imports[pkg]; qualified && p != nil {
		names = p.Scope().Names()
		missing = name
	} else {
		names = append(names, source.SortedKeys(s.imports)...)
	}
	return errors.New("the form does not compile: " + text + s.firstError() + lookup.DidYouMean(missing, names))
}

// Expand type-checks a form and writes it out. With full, it replaces constant
// expressions by their values, too. It cannot be stopped: types that double at each
// step keep the type checker busy for hours.
//
// # Errors
//
// A plain error for a form that does not compile, and for an expansion that is too
// long.
func (s *Scope) Expand(f *Form, full bool) (Expansion, error) {
	info, err := s.check(f)
	if err != nil {
		return Expansion{}, err
	}
	x := &expander{info: info, scope: s, full: full, named: map[string]string{}}
	var out Expansion
	tv := info.Types[f.expr]
	out.Type = typeutil.Cut(x.typeOf(tv), typeutil.MaxType)
	if tv.Value != nil {
		out.Value = typeutil.Cut(typeutil.ExactValue(tv.Value), typeutil.MaxValue)
	}
	var text strings.Builder
	tree := x.expr(f.expr)
	// A file of one line, because the new nodes have no positions to keep lines by.
	oneLine := token.NewFileSet()
	oneLine.AddFile("", 1, 2*MaxForm)
	if err := format.Node(&text, oneLine, tree); err != nil {
		return Expansion{}, fmt.Errorf("the expansion cannot be written: %w", err)
	}
	if text.Len() > maxExpansion {
		return Expansion{}, fmt.Errorf("the expansion has %d bytes, more than the %d that are returned; give a smaller form",
			text.Len(), maxExpansion)
	}
	out.Text, out.Notes = text.String(), x.notes[:min(len(x.notes), maxNotes)]
	x.importsOf(tree)
	out.Imports = x.named
	return out, nil
}
