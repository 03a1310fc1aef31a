package tools

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type outlineIn struct {
	File string `json:"file" jsonschema:"path in the workspace, such as host/host.go, or import path and file, such as net/http/client.go"`
	Uses bool   `json:"uses,omitempty" jsonschema:"list what the file uses of other files and packages, too"`
	page
	build
}

// outline is the answer of outline_file.
type outline struct {
	File         string   `json:"file"`
	Package      string   `json:"package" jsonschema:"name of the package"`
	Lines        int      `json:"lines"`
	Imports      []string `json:"imports,omitempty"`
	Declarations []string `json:"declarations" jsonschema:"in the order of the file: first and last line, the declaration in Go without bodies, and the first sentence of its documentation"`
	Uses         []string `json:"uses,omitempty" jsonschema:"what the file uses of other files of its package: position and declaration; limit and offset count these after the declarations"`
	UsesOf       []string `json:"uses_of,omitempty" jsonschema:"what the file uses of other packages: import path and names"`
	rest
	Errors []string `json:"errors,omitempty" jsonschema:"why the file cannot be parsed as a whole"`
}

func outlineFile(w *check.Workspace) tool.Tool {
	return define(w, "outline_file",
		"Lists what a Go file declares, with line numbers, signatures and one line of documentation. Works for "+
			"files that build constraints leave out, for tests, dependencies and the standard library. show_source "+
			"returns the code.",
		newOutline, append(pageArguments(maxLimit), pluginsdk.Title("Outline a Go file"),
			pluginsdk.Categories("code"), pluginsdk.Argument("file", nameLimit),
			pluginsdk.Argument("uses", `{"default": false}`))...)
}

func newOutline(ctx context.Context, w *check.Workspace, in outlineIn) (outline, error) {
	s, err := w.Snapshot(ctx, in.File)
	if err != nil {
		return outline{}, err
	}
	f := lookup.Finder{Snapshot: s}
	file, err := f.File(ctx, in.File)
	if err != nil {
		return outline{}, err
	}
	o := outliner{finder: f, file: file, fset: token.NewFileSet(), pages: newPager(in.page, maxLimit)}
	o.out = outline{File: file.Name, Lines: bytes.Count(file.Content, []byte("\n")), Declarations: []string{}}
	syntax, err := source.ParseFile(o.fset, file.Name, file.Content)
	if err != nil {
		o.out.Errors = []string{typeutil.Cut(err.Error(), maxLine)}
	}
	if syntax == nil || syntax.Name == nil {
		return outline{}, fmt.Errorf("%s cannot be parsed: %w", file.Name, err)
	}
	o.out.Package = syntax.Name.Name
	for _, i := range syntax.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil {
			o.out.Imports = append(o.out.Imports, path)
		}
	}
	o.pages.charge(o.out.Imports)
	for _, d := range syntax.Decls {
		o.addDeclaration(d)
	}
	if in.Uses {
		err = o.addUses(ctx)
		if err != nil {
			return outline{}, err
		}
	}
	o.out.rest = o.pages.rest()
	return o.out, nil
}

// outliner outlines one file.
type outliner struct {
	finder lookup.Finder
	file   lookup.File
	fset   *token.FileSet
	pages  *pager
	out    outline
}

func (o *outliner) addDeclaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		o.add(d, o.code(d.Pos(), d.Type.End()), d.Doc)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			var around ast.Node = spec
			if !d.Lparen.IsValid() {
				around = d
			}
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				o.add(around, "type "+o.typeHead(spec), spec.Doc, spec.Comment, d.Doc)
			case *ast.ValueSpec:
				end := spec.Names[len(spec.Names)-1].End()
				if spec.Type != nil {
					end = spec.Type.End()
				}
				text := d.Tok.String() + " " + o.code(spec.Pos(), end)
				if d.Tok == token.CONST && len(spec.Values) > 0 {
					text += " = " + o.code(spec.Values[0].Pos(), spec.Values[len(spec.Values)-1].End())
				}
				o.add(around, text, spec.Doc, spec.Comment, d.Doc)
			}
		}
	}
}

// typeHead returns a type's declaration up to the fields of a struct or the methods of an
// interface.
func (o *outliner) typeHead(spec *ast.TypeSpec) string {
	switch spec.Type.(type) {
	case *ast.StructType:
		return o.code(spec.Pos(), spec.Type.Pos()) + " struct"
	case *ast.InterfaceType:
		return o.code(spec.Pos(), spec.Type.Pos()) + " interface"
	}
	return o.code(spec.Pos(), spec.Type.End())
}

// code returns a part of the file on one line.
func (o *outliner) code(from, to token.Pos) string {
	start, end := o.fset.PositionFor(from, false).Offset, o.fset.PositionFor(to, false).Offset
	end = min(end, len(o.file.Content))
	if start > end {
		return ""
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(o.file.Content[start:end]), "\uFFFD")), " ")
	return typeutil.Cut(text, maxLine)
}

func (o *outliner) add(n ast.Node, text string, comments ...*ast.CommentGroup) {
	first, last := o.fset.PositionFor(n.Pos(), false).Line, o.fset.PositionFor(n.End(), false).Line
	where := strconv.Itoa(first)
	if last > first {
		where += "-" + strconv.Itoa(last)
	}
	if synopsis := source.Synopsis(source.Comment(comments...)); synopsis != "" {
		text += " // " + synopsis
	}
	add(o.pages, &o.out.Declarations, where+" "+text)
}

// addUses adds what the file uses of other files and packages.
func (o *outliner) addUses(ctx context.Context) error {
	n := o.finder.Snapshot.OfFile(o.file.Path)
	if n == nil {
		n = o.file.Node
	}
	if n == nil || !slices.Contains(n.Files, o.file.Path) {
		return fmt.Errorf("%s is in no package of the workspace on this platform, so what it uses is not known; "+
			"goos or tags can include it", o.file.Name)
	}
	p, err := o.finder.Snapshot.Package(ctx, n)
	if err != nil {
		return err
	}
	var own []types.Object
	others := map[string]map[string]bool{}
	seen := map[types.Object]bool{}
	for id, obj := range p.Info.Uses {
		if p.Place(id.Pos()).Filename != o.file.Path || seen[obj] {
			continue
		}
		seen[obj] = true
		switch {
		case obj.Pkg() == nil || obj.Name() == "_":
		case obj.Pkg() == p.Types:
			if p.Place(obj.Pos()).Filename != o.file.Path {
				own = append(own, obj)
			}
		default:
			if _, isPackage := obj.(*types.PkgName); isPackage {
				continue
			}
			if others[obj.Pkg().Path()] == nil {
				others[obj.Pkg().Path()] = map[string]bool{}
			}
			others[obj.Pkg().Path()][nameOf(obj)] = true
		}
	}
	slices.SortFunc(own, func(a, b types.Object) int {
		x, y := p.Place(a.Pos()), p.Place(b.Pos())
		return cmp.Or(strings.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
	})
	printer := typeutil.Printer{Pkg: p.Types, Limit: maxLine}
	for _, obj := range own {
		at := p.Place(obj.Pos())
		where := fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
		add(o.pages, &o.out.Uses, where+" "+printer.Signature(obj))
	}
	for _, path := range source.SortedKeys(others) {
		names := strings.Join(source.SortedKeys(others[path]), ", ")
		add(o.pages, &o.out.UsesOf, path+": "+typeutil.Cut(names, 2*typeutil.MaxType))
	}
	return nil
}

// nameOf returns a name with the type that a method belongs to.
func nameOf(obj types.Object) string {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return obj.Name()
	}
	if named, ok := types.Unalias(typeutil.Deref(fn.Signature().Recv().Type())).(*types.Named); ok {
		return named.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}
