package tools

import (
	"context"
	"go/types"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type describeIn struct {
	Symbol  string `json:"symbol" jsonschema:"Name, pkg.Name, Type.Method, Type.field or pkg.Type.Method; pkg is a name, an import path or the end of one, as in fmt.Println or net/http.Client.Do"`
	Package string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what symbol names, else the workspace"`
	page
	build
}

// description is the answer of describe_symbol.
type description struct {
	Name         string   `json:"name" jsonschema:"the name in its package, Type.Member for a method or field"`
	Kind         string   `json:"kind" jsonschema:"func, method, type, var, const, field or builtin"`
	TypeKind     string   `json:"type_kind,omitempty" jsonschema:"for a type: struct, interface, basic, pointer, slice, array, map, chan, func, or invalid in broken code"`
	Package      string   `json:"package" jsonschema:"import path"`
	Signature    string   `json:"signature" jsonschema:"the declaration on one line, without bodies"`
	Type         string   `json:"type" jsonschema:"the type; of a type what it is declared as"`
	Alias        bool     `json:"alias,omitempty" jsonschema:"the name is an alias for the type in type"`
	Doc          string   `json:"doc,omitempty"`
	Position     string   `json:"position,omitempty" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	Value        string   `json:"value,omitempty" jsonschema:"of a constant"`
	PromotedFrom string   `json:"promoted_from,omitempty" jsonschema:"the embedded type that declares the method or field"`
	Methods      []string `json:"methods,omitempty" jsonschema:"the method set of the type and of a pointer to it together, as Go declarations; unexported ones of the workspace only; limit and offset count them"`
	rest
	Size   *int64   `json:"size,omitempty" jsonschema:"bytes; missing if it depends on type arguments"`
	Align  *int64   `json:"align,omitempty" jsonschema:"bytes"`
	Errors []string `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer has what could be found out nevertheless"`
}

// maxDoc bounds a comment, in bytes.
const maxDoc = 16 << 10

func describeSymbol(w *check.Workspace) tool.Tool {
	return define(w, "describe_symbol",
		"Describes a Go symbol as the compiler sees it: kind, signature, type, documentation, position and "+
			"constant value; of a type also method set, size and alignment. Works for the workspace with its tests, "+
			"its dependencies and the standard library.",
		describe, append(pageArguments(maxLimit), pluginsdk.Title("Describe a Go symbol"),
			pluginsdk.Categories("introspection"), pluginsdk.Argument("symbol", nameLimit),
			pluginsdk.Argument("package", nameLimit))...)
}

func describe(ctx context.Context, w *check.Workspace, in describeIn) (description, error) {
	f, s, err := lookup.Find(ctx, w, in.Symbol, in.Package)
	if err != nil {
		return description{}, err
	}
	p := typeutil.Printer{Pkg: s.Package.Types}
	out := description{
		Name: s.Name(), Kind: typeutil.Kind(s.Object), Package: s.Package.Node.Path,
		Signature: p.Signature(s.Object), Type: p.Underlying(s.Object), Errors: s.Package.Errors,
	}
	if out.Doc, out.Position, err = f.Snapshot.Locate(ctx, s.Package, s.Object); err != nil {
		return description{}, err
	}
	out.Doc = typeutil.Cut(out.Doc, maxDoc)
	switch obj := s.Object.(type) {
	case *types.Const:
		out.Value = typeutil.Cut(typeutil.ExactValue(obj.Val()), typeutil.MaxValue)
	case *types.TypeName:
		pages := newPager(in.page, maxLimit)
		pages.charge(out.Doc)
		out.addType(obj, s.Package, pages)
	}
	if s.Of != nil {
		out.addMember(s, p)
	}
	return out, nil
}

func (d *description) addType(obj *types.TypeName, p *check.Package, pages *pager) {
	t := obj.Type()
	d.TypeKind, d.Alias = typeutil.TypeKind(t), obj.IsAlias()
	for _, m := range methods(t, typeutil.Printer{Pkg: p.Types}, p.Node.Own) {
		add(pages, &d.Methods, m)
	}
	d.rest = pages.rest()
	if size, align, ok := typeutil.Layout(t, p.Sizes); ok {
		d.Size, d.Align = &size, &align
	}
}

func (d *description) addMember(s *lookup.Symbol, p typeutil.Printer) {
	t := s.Of
	d.PromotedFrom = promotedFrom(t, s.Object, s.Index, p)
	if field, ok := s.Object.(*types.Var); ok && field.IsField() {
		if in, at := typeutil.FieldAt(t, s.Index); in != nil && in.Tag(at) != "" {
			d.Signature += " `" + in.Tag(at) + "`"
		}
	}
}

// methods returns the method set, by name. It leaves out unexported methods that the
// workspace cannot call: those of other packages than the type's, and all methods of
// types that are not the workspace's own.
func methods(t types.Type, p typeutil.Printer, own bool) []string {
	set := typeutil.MethodSet(t)
	found := map[string]string{}
	for i := range set.Len() {
		sel := set.At(i)
		fn := sel.Obj().(*types.Func)
		if !fn.Exported() && (!own || fn.Pkg() != p.Pkg) {
			continue
		}
		text := p.Signature(fn)
		if from := promotedFrom(t, fn, sel.Index(), p); from != "" {
			text += " // promoted from " + from
		}
		found[fn.Name()] = text
	}
	var out []string
	for _, name := range source.SortedKeys(found) {
		out = append(out, found[name])
	}
	return out
}

func promotedFrom(t types.Type, member types.Object, index []int, p typeutil.Printer) string {
	if from := typeutil.PromotedFrom(t, member, index); from != nil {
		return p.Type(from)
	}
	return ""
}
