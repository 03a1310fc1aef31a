package tools

import (
	"context"
	"go/types"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type slotsIn struct {
	Class   string `json:"class" jsonschema:"a struct type: Name or pkg.Name; pkg is a name, an import path or the end of one, as in net/http.Client"`
	Package string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what class names, else the workspace"`
	page
	build
}

// slots is the answer of class_slots. Limit and offset count through both lists.
type slots struct {
	Name     string         `json:"name"`
	Package  string         `json:"package" jsonschema:"import path"`
	Size     *int64         `json:"size,omitempty" jsonschema:"bytes; missing if it depends on type arguments"`
	Align    *int64         `json:"align,omitempty" jsonschema:"bytes"`
	Fields   []slotField    `json:"fields" jsonschema:"in the order of the declaration; also unexported ones of other modules"`
	Promoted []promotedSlot `json:"promoted" jsonschema:"fields of embedded structs that can be selected as if they were the type's own, nearest first"`
	rest
	Errors []string `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer has what could be found out nevertheless"`
}

// slotField is a field of a struct.
type slotField struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Tag      string `json:"tag,omitempty"`
	Offset   *int64 `json:"offset,omitempty" jsonschema:"bytes from the start of the struct; missing if it depends on type arguments, or the field is reached through a pointer"`
	Size     *int64 `json:"size,omitempty" jsonschema:"bytes; missing if it depends on type arguments"`
	Exported bool   `json:"exported"`
	Embedded bool   `json:"embedded,omitempty"`
	Doc      string `json:"doc,omitempty" jsonschema:"of a promoted field of another package the first sentence"`
}

type promotedSlot struct {
	slotField
	From    string `json:"from" jsonschema:"the embedded type that declares the field"`
	Path    string `json:"path" jsonschema:"the selector in full, as in Middle.Base.Count"`
	Pointer bool   `json:"pointer,omitempty" jsonschema:"the path goes through an embedded pointer, which must not be nil"`
}

func classSlots(w *check.Workspace) tool.Tool {
	return define(w, "class_slots",
		"Lists the fields of a Go struct: type, tag, offset, size and documentation, and the fields promoted "+
			"from embedded structs with their origin. describe_symbol returns its methods.",
		findSlots, append(pageArguments(maxLimit), pluginsdk.Title("List a Go struct's fields"),
			pluginsdk.Categories("introspection", "clos"), pluginsdk.Argument("class", nameLimit),
			pluginsdk.Argument("package", nameLimit))...)
}

func findSlots(ctx context.Context, w *check.Workspace, in slotsIn) (slots, error) {
	f, s, err := lookup.Find(ctx, w, in.Class, in.Package)
	if err != nil {
		return slots{}, err
	}
	name, ok := s.Object.(*types.TypeName)
	if !ok {
		return slots{}, s.NotA("struct type")
	}
	t, ok := name.Type().Underlying().(*types.Struct)
	if !ok {
		return slots{}, s.NotA("struct, so it has no fields")
	}
	out := slots{
		Name: s.Name(), Package: s.Package.Node.Path, Fields: []slotField{}, Promoted: []promotedSlot{},
		Errors: s.Package.Errors,
	}
	if size, align, ok := typeutil.Layout(name.Type(), s.Package.Sizes); ok {
		out.Size, out.Align = &size, &align
	}
	d := fieldDescriber{
		snapshot: f.Snapshot, pkg: s.Package, printer: typeutil.Printer{Pkg: s.Package.Types},
		pages: newPager(in.page, maxLimit),
	}
	for i, offset := range typeutil.Offsets(t, s.Package.Sizes) {
		if !d.pages.wants() {
			d.pages.skip()
			continue
		}
		field, err := d.field(ctx, t, i, offset)
		if err != nil {
			return slots{}, err
		}
		add(d.pages, &out.Fields, field)
	}
	err = d.addPromoted(ctx, name.Type(), &out)
	out.rest = d.pages.rest()
	return out, err
}

// fieldDescriber describes the fields of one package's structs.
type fieldDescriber struct {
	snapshot *check.Snapshot
	pkg      *check.Package
	printer  typeutil.Printer
	pages    *pager
}

func (d fieldDescriber) field(ctx context.Context, s *types.Struct, i int, offset *int64) (slotField, error) {
	f := s.Field(i)
	comment, err := d.comment(ctx, f)
	out := slotField{
		Name: f.Name(), Type: d.printer.Type(f.Type()), Tag: s.Tag(i), Offset: offset,
		Exported: f.Exported(), Embedded: f.Embedded(), Doc: typeutil.Cut(comment, maxDoc),
	}
	if size, _, ok := typeutil.Layout(f.Type(), d.pkg.Sizes); ok {
		out.Size = &size
	}
	return out, err
}

// comment returns a field's documentation. For a field of another package, it returns
// what is known without loading that package.
func (d fieldDescriber) comment(ctx context.Context, f *types.Var) (string, error) {
	home := f.Pkg()
	if home == nil || home.Path() == d.pkg.Node.Path {
		text, _, err := d.snapshot.Locate(ctx, d.pkg, f)
		return text, err
	}
	n, err := d.snapshot.Find(ctx, home.Path())
	if err != nil || n == nil {
		return "", err
	}
	known, _ := d.snapshot.DeclaredAt(n, d.pkg.Fset.Position(f.Pos()), f.Name())
	return known.Synopsis, nil
}
