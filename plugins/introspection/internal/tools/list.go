package tools

import (
	"context"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type listIn struct {
	Package         string `json:"package" jsonschema:"import path, directory (./host) or package name"`
	IncludeInternal bool   `json:"include_internal,omitempty" jsonschema:"list unexported symbols too"`
	Fields          bool   `json:"fields,omitempty" jsonschema:"list the fields of structs too"`
	Tests           bool   `json:"tests,omitempty" jsonschema:"list what the package's test files declare too"`
	page
	build
}

// listing is the answer of list_package_symbols. All groups are sorted by name. What is
// declared is written as in Go, with the first sentence of its documentation as a comment.
type listing struct {
	Package   string       `json:"package" jsonschema:"import path"`
	Name      string       `json:"name"`
	Synopsis  string       `json:"synopsis,omitempty" jsonschema:"first sentence of the package's documentation"`
	Constants []string     `json:"constants" jsonschema:"declarations in Go, each with the first sentence of its documentation as a comment"`
	Variables []string     `json:"variables"`
	Functions []string     `json:"functions"`
	Types     []listedType `json:"types"`
	Total     int          `json:"total" jsonschema:"how many symbols there are: constants, variables, functions, types, methods and, if asked for, fields; limit and offset count them in this order, methods and fields with their types"`
	rest
	InTests  int      `json:"in_tests,omitempty" jsonschema:"how many symbols only the package's test files declare: tests lists them"`
	External string   `json:"test_package,omitempty" jsonschema:"import path of the package of tests next to this one, which can be listed by this name"`
	LeftOut  string   `json:"left_out,omitempty" jsonschema:"the files that build constraints leave out"`
	Errors   []string `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer has what could be found out nevertheless"`
}

type listedType struct {
	Type    string   `json:"type"`
	Fields  []string `json:"fields,omitempty"`
	Methods []string `json:"methods,omitempty" jsonschema:"the methods that the type declares; describe_symbol returns promoted ones too"`
}

func listPackageSymbols(w *check.Workspace) tool.Tool {
	options := append(pageArguments(maxLimit), pluginsdk.Title("List a Go package's symbols"),
		pluginsdk.Categories("introspection", "packages"), pluginsdk.Argument("package", nameLimit),
		pluginsdk.Argument("include_internal", `{"default": false}`), pluginsdk.Argument("fields", `{"default": false}`),
		pluginsdk.Argument("tests", `{"default": false}`))
	return define(w, "list_package_symbols",
		"Lists what a Go package of the workspace, its dependencies or the standard library declares, as Go "+
			"declarations in groups, each with one line of documentation. A large package is listed in parts.",
		list, options...)
}

func list(ctx context.Context, w *check.Workspace, in listIn) (listing, error) {
	f, err := lookup.New(ctx, w, in.Package)
	if err != nil {
		return listing{}, err
	}
	n, err := f.PackageWithFiles(ctx, in.Package)
	if err != nil {
		return listing{}, err
	}
	plain := n
	if in.Tests {
		n = f.WithTests(n)
	}
	p, err := f.Snapshot.Package(ctx, n)
	if err != nil {
		return listing{}, err
	}
	out := newListing(p, in)
	if len(plain.LeftOut) > 0 {
		out.LeftOut = f.LeftOut(plain.LeftOut)
	}
	for _, tests := range f.Snapshot.Graph.TestsOf(plain.Path) {
		switch {
		case tests == n:
		case tests.Path != plain.Path:
			out.External = tests.Path
		default:
			out.InTests = countTests(f.Snapshot, tests, in.IncludeInternal)
		}
	}
	return out, nil
}

// countTests returns how many symbols the test files of a package declare.
func countTests(s *check.Snapshot, n *check.Node, internal bool) int {
	count := 0
	for d := range s.Declarations(n) {
		if d.InTest() && d.Kind != "field" && (internal || d.Exported()) {
			count++
		}
	}
	return count
}

func newListing(p *check.Package, in listIn) listing {
	l := lister{pkg: p, in: in, pager: newPager(in.page, maxLimit), out: listing{
		Package: p.Node.Path, Name: p.Types.Name(), Synopsis: source.Synopsis(p.PackageComment()), Errors: p.Errors,
		Constants: []string{}, Variables: []string{}, Functions: []string{}, Types: []listedType{},
	}}
	var constants, variables, functions, named []types.Object
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !l.wants(obj) {
			continue
		}
		switch obj.(type) {
		case *types.Const:
			constants = append(constants, obj)
		case *types.Var:
			variables = append(variables, obj)
		case *types.TypeName:
			named = append(named, obj)
		default:
			functions = append(functions, obj)
		}
	}
	l.add(&l.out.Constants, constants)
	l.add(&l.out.Variables, variables)
	l.add(&l.out.Functions, functions)
	for _, obj := range named {
		l.addType(obj.(*types.TypeName))
	}
	l.out.Total, l.out.rest = l.pager.seen, l.pager.rest()
	return l.out
}

// lister lists the symbols of one package.
type lister struct {
	pkg   *check.Package
	in    listIn
	pager *pager
	out   listing
}

func (l *lister) wants(obj types.Object) bool { return obj.Exported() || l.in.IncludeInternal }

// add adds those of some symbols that are on the page.
func (l *lister) add(list *[]string, objects []types.Object) {
	for _, obj := range objects {
		if l.pager.wants() {
			add(l.pager, list, l.declaration(obj))
		} else {
			l.pager.skip()
		}
	}
}

// declaration returns a symbol's declaration with its documentation.
func (l *lister) declaration(obj types.Object) string {
	text := typeutil.Printer{Pkg: l.pkg.Types}.Signature(obj)
	if synopsis := source.Synopsis(l.pkg.Comment(obj.Pos())); synopsis != "" {
		text += " // " + synopsis
	}
	return text
}

// addType adds a type with its fields and methods. If these do not fit on one page, the
// next one names the type again.
func (l *lister) addType(obj *types.TypeName) {
	var one listedType
	var heads []string
	if l.pager.wants() {
		add(l.pager, &heads, l.declaration(obj))
	} else {
		l.pager.skip()
	}
	l.add(&one.Fields, l.fields(obj))
	l.add(&one.Methods, l.methods(obj))
	switch {
	case len(heads) > 0:
		one.Type = heads[0]
	case len(one.Fields)+len(one.Methods) > 0:
		one.Type = l.declaration(obj)
		l.pager.charge(one.Type)
	default:
		return
	}
	l.pager.charge("fields and methods")
	l.out.Types = append(l.out.Types, one)
}

// fields returns the fields of a struct, if they are wanted.
func (l *lister) fields(obj *types.TypeName) []types.Object {
	named, ok := obj.Type().(*types.Named)
	if !ok || !l.in.Fields {
		return nil
	}
	var out []types.Object
	if s, ok := named.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if l.wants(f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// methods returns the methods that a type declares. An alias has those of another
// type, which are listed there.
func (l *lister) methods(obj *types.TypeName) []types.Object {
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return nil
	}
	var out []types.Object
	for fn := range declaredMethods(named) {
		if l.wants(fn) {
			out = append(out, fn)
		}
	}
	slices.SortFunc(out, func(a, b types.Object) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

func declaredMethods(named *types.Named) func(yield func(*types.Func) bool) {
	if t, ok := named.Underlying().(*types.Interface); ok {
		return t.ExplicitMethods()
	}
	return named.Methods()
}
