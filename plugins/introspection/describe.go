package main

import (
	"context"
	"go/types"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type describeIn struct {
	Symbol  string `json:"symbol" jsonschema:"Name, pkg.Name, Type.Method, Type.field or pkg.Type.Method; pkg is a package's name, import path or the end of its path, as in fmt.Println or net/http.Client.Do"`
	Package string `json:"package,omitempty" jsonschema:"where to look: an import path, a directory relative to the workspace (./host) or a package name; default: the package that symbol names, else the workspace's packages"`
}

// description is what describe_symbol answers.
type description struct {
	Name         string   `json:"name" jsonschema:"the name in its package, Type.Member for a method or field"`
	Kind         string   `json:"kind" jsonschema:"func, method, type, var, const, field or builtin"`
	TypeKind     string   `json:"type_kind,omitempty" jsonschema:"for a type: struct, interface, basic, pointer, slice, array, map, chan, func, or invalid where the code is broken"`
	Package      string   `json:"package" jsonschema:"import path"`
	Signature    string   `json:"signature" jsonschema:"the declaration on one line, without bodies"`
	Type         string   `json:"type" jsonschema:"the type; for a type what it is declared as"`
	Alias        bool     `json:"alias,omitempty" jsonschema:"the type is another name for the one in type"`
	Doc          string   `json:"doc,omitempty"`
	Position     string   `json:"position,omitempty" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	Value        string   `json:"value,omitempty" jsonschema:"of a constant"`
	PromotedFrom string   `json:"promoted_from,omitempty" jsonschema:"the embedded type that declares the method or field"`
	Methods      []method `json:"methods,omitempty" jsonschema:"the method set of the type and of a pointer to it together; unexported ones of the workspace only"`
	Size         *int64   `json:"size,omitempty" jsonschema:"bytes; missing where it hangs on type arguments"`
	Align        *int64   `json:"align,omitempty" jsonschema:"bytes"`
	Errors       []string `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer is what could be found out all the same"`
}

type method struct {
	Name            string `json:"name"`
	Signature       string `json:"signature"`
	PointerReceiver bool   `json:"pointer_receiver"`
	PromotedFrom    string `json:"promoted_from,omitempty"`
}

// maxDoc bounds a comment, in bytes.
const maxDoc = 16 << 10

// patience is how long a call may take: with a cold build cache, the go command
// compiles everything that the package imports.
const patience = 2 * time.Minute

// wordLimit is what every name that a caller gives is held to.
const wordLimit = `{"minLength": 1, "maxLength": 512}`

func (w *workspace) describeSymbol() tool.Tool {
	return pluginsdk.Func("describe_symbol",
		"Describes a Go symbol as the compiler sees it: kind, full signature, type, documentation, position, constant value; "+
			"for a type its method set, size and alignment. Works for the workspace, its dependencies and the standard library.",
		w.describe,
		pluginsdk.Title("Describe a Go symbol"), pluginsdk.Safe(), pluginsdk.Categories("introspection"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("symbol", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) describe(ctx context.Context, in describeIn) (description, error) {
	v, s, err := w.subject(ctx, in.Symbol, in.Package)
	if err != nil {
		return description{}, err
	}
	p := printer{s.unit.Types}
	out := description{
		Name: s.name(), Kind: kind(s.object), Package: s.unit.PkgPath,
		Signature: p.signature(s.object), Type: p.underlying(s.object), Errors: s.unit.errors,
	}
	if out.Doc, out.Position, err = v.locate(ctx, s.unit, s.object); err != nil {
		return description{}, err
	}
	switch obj := s.object.(type) {
	case *types.Const:
		out.Value = cut(exact(obj.Val()), maxValue)
	case *types.TypeName:
		p.describeType(obj, s.unit, &out)
	}
	if s.owner != nil {
		p.describeMember(s, &out)
	}
	return out, nil
}

// locate gives an object's documentation and position. What the package of a
// promoted member says of it is only in that package's source.
func (v *view) locate(ctx context.Context, u *unit, obj types.Object) (comment, position string, err error) {
	pos := obj.Pos()
	if home := obj.Pkg(); home != nil && home.Path() != u.PkgPath && pos.IsValid() {
		n, err := v.exact(ctx, home.Path())
		if err != nil || n == nil {
			return "", v.position(u.Fset.Position(pos), home.Path()), err
		}
		declaring, err := v.unit(ctx, n)
		if err != nil {
			return "", "", err
		}
		u, pos = declaring, declaring.at(u.Fset.Position(pos), obj.Name())
	}
	return cut(strings.TrimSpace(u.comment(pos)), maxDoc), v.position(u.place(pos), u.PkgPath), nil
}

func (p printer) describeType(obj *types.TypeName, u *unit, out *description) {
	t := obj.Type()
	out.TypeKind, out.Alias = typeKind(t), obj.IsAlias()
	out.Methods = p.methods(t, u.node.own)
	if size, align, ok := layout(t, u.TypesSizes); ok {
		out.Size, out.Align = &size, &align
	}
}

// methods is the method set, by name. Unexported methods that the workspace
// cannot call are left out: those of other packages than the type's, and all
// where the type is not the workspace's own.
func (p printer) methods(t types.Type, own bool) []method {
	set := methodsOf(t)
	var out []method
	for i := range set.Len() {
		sel := set.At(i)
		fn := sel.Obj().(*types.Func)
		if !fn.Exported() && (!own || fn.Pkg() != p.pkg) {
			continue
		}
		out = append(out, method{
			Name: fn.Name(), Signature: p.signature(fn), PointerReceiver: hasPointerReceiver(fn),
			PromotedFrom: p.origin(t, fn, sel.Index()),
		})
	}
	slices.SortFunc(out, func(a, b method) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (p printer) origin(t types.Type, member types.Object, index []int) string {
	if from := origin(t, member, index); from != nil {
		return p.typ(from)
	}
	return ""
}

func (p printer) describeMember(s *symbol, out *description) {
	t := s.owner.Type()
	out.PromotedFrom = p.origin(t, s.object, s.index)
	if field, ok := s.object.(*types.Var); ok && field.IsField() {
		if in, at := fieldAt(t, s.index); in != nil && in.Tag(at) != "" {
			out.Signature += " `" + in.Tag(at) + "`"
		}
	}
}

func kind(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		if obj.Signature().Recv() != nil {
			return "method"
		}
		return "func"
	case *types.TypeName:
		return "type"
	case *types.Const:
		return "const"
	case *types.Var:
		if obj.IsField() {
			return "field"
		}
		return "var"
	}
	return "builtin"
}

func typeKind(t types.Type) string {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return "invalid"
		}
	case *types.Struct:
		return "struct"
	case *types.Interface:
		return "interface"
	case *types.Pointer:
		return "pointer"
	case *types.Slice:
		return "slice"
	case *types.Array:
		return "array"
	case *types.Map:
		return "map"
	case *types.Chan:
		return "chan"
	case *types.Signature:
		return "func"
	}
	return "basic"
}
