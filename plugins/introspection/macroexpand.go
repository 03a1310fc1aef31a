package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type macroexpandIn struct {
	Form    string `json:"form" jsonschema:"a Go expression such as Map(items, name), not a statement; it is type-checked, never run"`
	Full    bool   `json:"full,omitempty" jsonschema:"replace constant expressions by their values too; default: false"`
	Package string `json:"package,omitempty" jsonschema:"the package that the form stands in, whose unexported names and imports it sees: an import path, a directory relative to the workspace (./host) or a package name; default: the one package of the workspace that has the form's names"`
}

// expansion is what macroexpand_form answers.
type expansion struct {
	Expanded string      `json:"expanded" jsonschema:"the form with type arguments, embedded fields, conversions, & and * written out that Go leaves unsaid"`
	Type     string      `json:"type,omitempty" jsonschema:"of the expression; several values are in parentheses"`
	Value    string      `json:"value,omitempty" jsonschema:"of a constant expression"`
	Package  string      `json:"package,omitempty" jsonschema:"import path of the package that the form stands in; missing where it needs none"`
	Imports  []importing `json:"imports,omitempty" jsonschema:"the packages that the expansion names"`
	Notes    []string    `json:"notes,omitempty" jsonschema:"where the expansion is not Go that compiles"`
	Errors   []string    `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer is what could be found out all the same"`
}

type importing struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// maxExpansion bounds an answer, in bytes.
const maxExpansion = 256 << 10

func (w *workspace) macroexpandForm() tool.Tool {
	return pluginsdk.Func("macroexpand_form",
		"Writes out what a Go expression leaves unsaid: inferred type arguments, promoted selectors in full, implicit conversions of constants and to interfaces, "+
			"implicit & and *. The bodies of function literals stay as they are. Use it to see what code means to the compiler. The form is type-checked in a package, never run; eval_form runs code.",
		w.macroexpand,
		pluginsdk.Title("Write out what Go leaves unsaid"), pluginsdk.Safe(), pluginsdk.Categories("introspection"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("form", fmt.Sprintf(`{"minLength": 1, "maxLength": %d}`, maxForm)), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) macroexpand(ctx context.Context, in macroexpandIn) (expansion, error) {
	if err := denied(in.Package); err != nil {
		return expansion{}, err
	}
	f, err := parseForm(in.Form)
	if err != nil {
		return expansion{}, err
	}
	v, err := w.view(ctx)
	if err != nil {
		return expansion{}, err
	}
	s, err := v.scope(ctx, f, in.Package)
	if err != nil {
		return expansion{}, err
	}
	return w.forms.run(ctx, func() (expansion, error) {
		info, err := s.check(f)
		if err != nil {
			return expansion{}, err
		}
		return s.expand(f, info, in.Full)
	})
}

// desk is where forms are checked. The type checker cannot be stopped, and a
// short form can keep it busy for hours, with types that double at each step:
// a call that gives up leaves its form behind, and as long as too many lie there
// no other is begun.
type desk struct {
	once  sync.Once
	slots chan struct{}
}

// maxForms is how many forms are checked at once.
const maxForms = 4

func (d *desk) run(ctx context.Context, work func() (expansion, error)) (expansion, error) {
	d.once.Do(func() { d.slots = make(chan struct{}, maxForms) })
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return expansion{}, ctx.Err()
	}
	type answer struct {
		expansion
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("the type checker failed on the form: %v", p)
			}
			<-d.slots
			done <- a
		}()
		a.expansion, a.err = work()
	}()
	select {
	case a := <-done:
		return a.expansion, a.err
	case <-ctx.Done():
		return expansion{}, ctx.Err()
	}
}

// check finds out what everything in a form is.
func (s *formScope) check(f *form) (*types.Info, error) {
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
			return nil, fmt.Errorf("the form uses what does not compile%s", s.trouble())
		}
	}
	return info, nil
}

func (s *formScope) trouble() string {
	if s.unit == nil {
		return ""
	}
	return s.unit.trouble()
}

// explain adds near names to what the type checker says of a name that is not
// there.
func (s *formScope) explain(f *form, err error) error {
	text := f.complaint(err)
	_, missing, ok := strings.Cut(text, "undefined: ")
	if !ok {
		return errors.New("the form does not compile: " + text + s.trouble())
	}
	pkg, name, qualified := strings.Cut(missing, ".")
	names := s.pkg.Scope().Names()
	if p := s.imports[pkg]; qualified && p != nil {
		names = p.Scope().Names()
		missing = name
	} else {
		names = append(names, sortedKeys(s.imports)...)
	}
	return errors.New("the form does not compile: " + text + s.trouble() + didYouMean(nearest(missing, names)))
}

func (s *formScope) expand(f *form, info *types.Info, full bool) (expansion, error) {
	x := &expander{info: info, scope: s, full: full, named: map[string]string{}}
	var out expansion
	if s.unit != nil {
		out.Package, out.Errors = s.unit.PkgPath, s.unit.errors
	}
	tv := info.Types[f.expr]
	out.Type = cut(x.typeOf(tv), maxType)
	if tv.Value != nil {
		out.Value = cut(exact(tv.Value), maxValue)
	}
	var text strings.Builder
	tree := x.expr(f.expr)
	// A file of one line, as the new nodes have no positions to keep lines by.
	oneLine := token.NewFileSet()
	oneLine.AddFile("", 1, 2*maxForm)
	if err := format.Node(&text, oneLine, tree); err != nil {
		return expansion{}, fmt.Errorf("the expansion cannot be written: %w", err)
	}
	if text.Len() > maxExpansion {
		return expansion{}, fmt.Errorf("the expansion has %d bytes, more than the %d that are given; take a smaller form", text.Len(), maxExpansion)
	}
	out.Expanded, out.Notes = text.String(), x.notes
	x.importsOf(tree)
	for _, name := range sortedKeys(x.named) {
		out.Imports = append(out.Imports, importing{Name: name, Path: x.named[name]})
	}
	return out, nil
}
