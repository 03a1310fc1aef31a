package main

import (
	"context"
	"go/types"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type slotsIn struct {
	Class   string `json:"class" jsonschema:"a struct type: Name or pkg.Name; pkg is a package's name, import path or the end of its path, as in net/http.Client"`
	Package string `json:"package,omitempty" jsonschema:"where to look: an import path, a directory relative to the workspace (./host) or a package name; default: the package that class names, else the workspace's packages"`
}

// slots is what class_slots answers.
type slots struct {
	Name     string         `json:"name"`
	Package  string         `json:"package" jsonschema:"import path"`
	Size     *int64         `json:"size,omitempty" jsonschema:"bytes; missing where it hangs on type arguments"`
	Align    *int64         `json:"align,omitempty" jsonschema:"bytes"`
	Fields   []slotField    `json:"fields" jsonschema:"in the order of the declaration; unexported ones of other modules' packages too"`
	Promoted []promotedSlot `json:"promoted" jsonschema:"fields of embedded structs that can be selected as if they were the type's own, nearest first"`
	Omitted  int            `json:"omitted,omitempty" jsonschema:"how many fields and promoted fields were left out of lists that are too long"`
	Errors   []string       `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer is what could be found out all the same"`
}

// slotField is a field of a struct.
type slotField struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Tag      string `json:"tag,omitempty"`
	Offset   *int64 `json:"offset,omitempty" jsonschema:"bytes from the start of the struct; missing where it hangs on type arguments, or lies behind a pointer"`
	Size     *int64 `json:"size,omitempty" jsonschema:"bytes; missing where it hangs on type arguments"`
	Exported bool   `json:"exported"`
	Embedded bool   `json:"embedded,omitempty"`
	Doc      string `json:"doc,omitempty" jsonschema:"for a promoted field of another package its first sentence"`
}

type promotedSlot struct {
	slotField
	From    string `json:"from" jsonschema:"the embedded type that declares the field"`
	Path    string `json:"path" jsonschema:"the selector in full, as in Middle.Base.Count"`
	Pointer bool   `json:"pointer,omitempty" jsonschema:"the path leads through an embedded pointer, which must not be nil"`
}

// maxSlots bounds each list of an answer.
const maxSlots = 500

func (w *workspace) classSlots() tool.Tool {
	return pluginsdk.Func("class_slots",
		"Lists the fields of a Go struct: type, tag, offset, size and documentation of each, and the fields promoted from embedded structs with where they come from. "+
			"Use it to build or read a value of the struct; describe_symbol gives its methods.",
		w.slots,
		pluginsdk.Title("List a Go struct's fields"), pluginsdk.Safe(), pluginsdk.Categories("introspection", "clos"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("class", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) slots(ctx context.Context, in slotsIn) (slots, error) {
	v, s, err := w.subject(ctx, in.Class, in.Package)
	if err != nil {
		return slots{}, err
	}
	name, ok := s.object.(*types.TypeName)
	if !ok {
		return slots{}, s.notA("struct type")
	}
	layer, ok := name.Type().Underlying().(*types.Struct)
	if !ok {
		return slots{}, s.notA("struct, so it has no fields")
	}
	out := slots{Name: s.name(), Package: s.unit.PkgPath, Fields: []slotField{}, Promoted: []promotedSlot{}, Errors: s.unit.errors}
	if size, align, ok := layout(name.Type(), s.unit.TypesSizes); ok {
		out.Size, out.Align = &size, &align
	}
	d := drawer{view: v, unit: s.unit, printer: printer{s.unit.Types}}
	for i, offset := range offsets(layer, s.unit.TypesSizes) {
		field, err := d.field(ctx, layer, i, offset)
		if err != nil {
			return slots{}, err
		}
		add(&out.Fields, field, &out.Omitted, maxSlots)
	}
	err = d.promoted(ctx, name.Type(), &out)
	return out, err
}

// drawer describes the fields of one package's structs.
type drawer struct {
	*view
	printer
	unit *unit
}

func (d drawer) field(ctx context.Context, s *types.Struct, i int, offset *int64) (slotField, error) {
	f := s.Field(i)
	comment, err := d.comment(ctx, f)
	out := slotField{
		Name: f.Name(), Type: d.typ(f.Type()), Tag: s.Tag(i), Offset: offset,
		Exported: f.Exported(), Embedded: f.Embedded(), Doc: comment,
	}
	if size, _, ok := layout(f.Type(), d.unit.TypesSizes); ok {
		out.Size = &size
	}
	return out, err
}

// comment is a field's documentation; of another package's only what is known
// without loading that package.
func (d drawer) comment(ctx context.Context, f *types.Var) (string, error) {
	home := f.Pkg()
	if home == nil || home.Path() == d.unit.PkgPath {
		text, _, err := d.locate(ctx, d.unit, f)
		return text, err
	}
	n, err := d.exact(ctx, home.Path())
	if err != nil || n == nil {
		return "", err
	}
	known, _ := d.declaredAt(n, d.unit.Fset.Position(f.Pos()), f.Name())
	return known.synopsis, nil
}

// offsets are where the fields of a struct start, in bytes; nil for those that
// lie behind a field whose size is not known, or are none themselves. The first
// field starts the struct whatever it is.
func offsets(s *types.Struct, sizes types.Sizes) []*int64 {
	out := make([]*int64, s.NumFields())
	if len(out) == 0 {
		return out
	}
	var known []*types.Var
	for f := range s.Fields() {
		if _, _, ok := layout(f.Type(), sizes); !ok {
			break
		}
		known = append(known, f)
	}
	out[0] = new(int64)
	if len(known) == 0 {
		return out
	}
	for i, at := range sizes.Offsetsof(known) {
		if at < 0 {
			break // it has overflowed
		}
		out[i] = &at
	}
	return out
}
