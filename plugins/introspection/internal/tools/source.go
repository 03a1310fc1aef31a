package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type sourceIn struct {
	Symbol   string `json:"symbol,omitempty" jsonschema:"Name, pkg.Name, Type.Method, Type.field or pkg.Type.Method, as in fmt.Println or net/http.Client.Do"`
	Package  string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what symbol names, else the workspace"`
	Position string `json:"position,omitempty" jsonschema:"instead of symbol: show the declaration around a position, as other tools return it: host/host.go:12:3, net/http/client.go:191"`
	Limit    int    `json:"limit,omitempty" jsonschema:"at most so many lines; default: as many as fit"`
	Offset   int    `json:"offset,omitempty" jsonschema:"skip so many lines, as the answer before says"`
	build
}

func showSource(w *check.Workspace) tool.Tool {
	return define(w, "show_source",
		"Shows the source of a Go symbol with its documentation, of a function with its body, in the workspace, "+
			"its tests, its dependencies or the standard library. The first line has its position. A long "+
			"declaration is shown in parts.",
		findSource, append(pageArguments(100_000), pluginsdk.Title("Show a Go symbol's source"),
			pluginsdk.Categories("code"), pluginsdk.Argument("symbol", nameLimit),
			pluginsdk.Argument("package", nameLimit), pluginsdk.Argument("position", nameLimit))...)
}

// excerpt is a part of a file, in lines from 1, both included.
type excerpt struct {
	name        string // of the file
	lines       []string
	first, last int
}

func findSource(ctx context.Context, w *check.Workspace, in sourceIn) (string, error) {
	var e excerpt
	var err error
	switch {
	case in.Symbol != "" && in.Position != "":
		return "", errors.New("give a symbol or a position, not both")
	case in.Symbol != "":
		e, err = symbolSource(ctx, w, in)
	case in.Position != "":
		e, err = sourceAt(ctx, w, in.Position)
	default:
		return "", errors.New("give the symbol whose source is wanted, such as net/http.Client.Do, or a position")
	}
	if err != nil {
		return "", err
	}
	return e.text(in.Offset, in.Limit), nil
}

// symbolSource returns the source of a symbol.
func symbolSource(ctx context.Context, w *check.Workspace, in sourceIn) (excerpt, error) {
	f, s, err := lookup.Find(ctx, w, in.Symbol, in.Package)
	if err != nil {
		return excerpt{}, err
	}
	p, pos, err := f.Snapshot.Home(ctx, s.Package, s.Object)
	if err != nil {
		return excerpt{}, err
	}
	if p == nil || !pos.IsValid() {
		return excerpt{}, fmt.Errorf("%s.%s has no source: the compiler declares it", s.Package.Node.Path, s.Name())
	}
	for _, syntax := range p.Syntax {
		if pos < syntax.FileStart || pos >= syntax.FileEnd {
			continue
		}
		n := declarationAt(syntax, pos)
		at, end := p.Place(n.Pos()), p.Place(n.End())
		file, err := f.FileOf(p.Node, at.Filename)
		if err != nil {
			return excerpt{}, err
		}
		return newExcerpt(file, at.Line, end.Line), nil
	}
	return excerpt{}, fmt.Errorf("the source of %s.%s was not loaded", s.Package.Node.Path, s.Name())
}

var positionSyntax = lazy.Regexp(`^(.+\.go):(\d{1,9})(?::\d{1,9})?$`)

// sourceAt returns the declaration around a position, or the line if there is none.
func sourceAt(ctx context.Context, w *check.Workspace, position string) (excerpt, error) {
	parts := positionSyntax().FindStringSubmatch(position)
	if parts == nil {
		return excerpt{}, fmt.Errorf("%q is not a position; write host/host.go:12 or net/http/client.go:191", position)
	}
	file, err := readFile(ctx, w, parts[1])
	if err != nil {
		return excerpt{}, err
	}
	line, _ := strconv.Atoi(parts[2]) // nine digits
	fset := token.NewFileSet()
	syntax, _ := source.ParseFile(fset, file.Name, file.Content)
	if count := bytes.Count(file.Content, []byte("\n")) + 1; line < 1 || line > count {
		return excerpt{}, fmt.Errorf("%s has %d lines", file.Name, count)
	}
	if syntax != nil {
		for _, d := range syntax.Decls {
			n := withDoc(d)
			first, last := fset.PositionFor(n.Pos(), false).Line, fset.PositionFor(n.End(), false).Line
			if first <= line && line <= last {
				return newExcerpt(file, first, last), nil
			}
		}
	}
	return newExcerpt(file, line, line), nil
}

func readFile(ctx context.Context, w *check.Workspace, name string) (lookup.File, error) {
	s, err := w.Snapshot(ctx, name)
	if err != nil {
		return lookup.File{}, err
	}
	return lookup.Finder{Snapshot: s}.File(ctx, name)
}

// span is a part of a file.
type span struct{ from, to token.Pos }

func (s span) Pos() token.Pos { return s.from }
func (s span) End() token.Pos { return s.to }

// declarationAt returns the declaration of the name at a position: of a constant in a
// group that counts, the group.
func declarationAt(f *ast.File, pos token.Pos) ast.Node {
	path, _ := astutil.PathEnclosingInterval(f, pos, pos)
	for i, n := range path {
		switch n := n.(type) {
		case *ast.Field, *ast.FuncDecl:
			return withDoc(n)
		case *ast.TypeSpec, *ast.ValueSpec:
			group, ok := path[i+1].(*ast.GenDecl)
			if ok && (!group.Lparen.IsValid() || counts(group)) {
				return withDoc(group)
			}
			return withDoc(n)
		case *ast.File:
			return span{pos, pos}
		}
	}
	return span{pos, pos}
}

// counts reports whether constants of a group have values that depend on their place.
func counts(d *ast.GenDecl) bool {
	for _, spec := range d.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST && len(v.Values) == 0 {
			return true
		}
	}
	return false
}

// withDoc extends a declaration to the comments on it.
func withDoc(n ast.Node) ast.Node {
	out := span{n.Pos(), n.End()}
	extend := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				out.from, out.to = min(out.from, g.Pos()), max(out.to, g.End())
			}
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		extend(n.Doc)
	case *ast.GenDecl:
		extend(n.Doc)
	case *ast.TypeSpec:
		extend(n.Doc, n.Comment)
	case *ast.ValueSpec:
		extend(n.Doc, n.Comment)
	case *ast.Field:
		extend(n.Doc, n.Comment)
	}
	return out
}

func newExcerpt(file lookup.File, first, last int) excerpt {
	lines := strings.Split(string(file.Content), "\n")
	last = min(last, len(lines))
	return excerpt{name: file.Name, lines: lines[first-1 : last], first: first, last: last}
}

// text returns lines of the excerpt, after a line that says where they are.
func (e excerpt) text(offset, limit int) string {
	if limit == 0 {
		limit = len(e.lines)
	}
	offset = min(offset, len(e.lines))
	var b strings.Builder
	shown := 0
	for _, line := range e.lines[offset:] {
		if shown == limit || shown > 0 && b.Len()+len(line) > maxAnswer {
			break
		}
		b.WriteString(strings.ToValidUTF8(strings.TrimSuffix(cutLine(line), "\r"), "\uFFFD"))
		b.WriteString("\n")
		shown++
	}
	head := fmt.Sprintf("// %s:%d-%d\n", e.name, e.first+offset, max(e.first, e.first+offset+shown-1))
	if left := len(e.lines) - offset - shown; left > 0 {
		return head + b.String() + fmt.Sprintf("// %d more lines, with offset %d\n", left, offset+shown)
	}
	return head + b.String()
}

// cutLine bounds a line by what an answer may have.
func cutLine(line string) string {
	if len(line) <= maxAnswer {
		return line
	}
	return fmt.Sprintf("%s // … (%d bytes)", line[:maxAnswer], len(line))
}
