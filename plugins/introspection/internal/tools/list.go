package tools

import (
	"context"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type listIn struct {
	Package         string `json:"package" jsonschema:"an import path, a directory relative to the workspace (./host) or a package name"`
	IncludeInternal bool   `json:"include_internal,omitempty" jsonschema:"list unexported symbols too; default: false"`
}

// listing is the answer of list_package_symbols. All groups are sorted by name.
type listing struct {
	Package   string       `json:"package" jsonschema:"import path"`
	Name      string       `json:"name"`
	Synopsis  string       `json:"synopsis,omitempty" jsonschema:"first sentence of the package's documentation"`
	Constants []listed     `json:"constants"`
	Variables []listed     `json:"variables"`
	Functions []listed     `json:"functions"`
	Types     []listedType `json:"types"`
	Omitted   int          `json:"omitted,omitempty" jsonschema:"how many symbols were left out of groups that are too long"`
	Errors    []string     `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer has what could be found out nevertheless"`
}

type listed struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
	Synopsis  string `json:"synopsis,omitempty"`
}

type listedType struct {
	listed
	Methods []listed `json:"methods,omitempty" jsonschema:"the methods that the type declares; describe_symbol returns promoted ones too"`
}

// maxListed bounds each group of a listing. Packages of system calls have many
// thousands of constants.
const maxListed = 1000

func listPackageSymbols(w *check.Workspace) tool.Tool {
	return define(w, "list_package_symbols",
		"Lists what a Go package declares, grouped into constants, variables, functions and types with their methods, "+
			"each with its signature and one line of documentation. "+
			"Works for the workspace, its dependencies and the standard library.",
		list, pluginsdk.Title("List a Go package's symbols"), pluginsdk.Categories("introspection", "packages"),
		pluginsdk.Argument("package", nameLimit))
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
	p, err := f.Snapshot.Package(ctx, n)
	if err != nil {
		return listing{}, err
	}
	return newListing(p, in.IncludeInternal), nil
}

func newListing(p *check.Package, internal bool) listing {
	l := lister{p, internal}
	out := listing{
		Package: p.Node.Path, Name: p.Types.Name(), Synopsis: source.Synopsis(p.PackageComment()), Errors: p.Errors,
		Constants: []listed{}, Variables: []listed{}, Functions: []listed{}, Types: []listedType{},
	}
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() && !internal {
			continue
		}
		one := l.symbol(obj)
		switch obj := obj.(type) {
		case *types.Const:
			appendUpTo(&out.Constants, one, &out.Omitted, maxListed)
		case *types.Var:
			appendUpTo(&out.Variables, one, &out.Omitted, maxListed)
		case *types.TypeName:
			appendUpTo(&out.Types, listedType{one, l.methods(obj)}, &out.Omitted, maxListed)
		default:
			appendUpTo(&out.Functions, one, &out.Omitted, maxListed)
		}
	}
	return out
}

// lister describes symbols of one package.
type lister struct {
	pkg      *check.Package
	internal bool
}

func (l lister) symbol(obj types.Object) listed {
	return listed{
		Name: obj.Name(), Signature: typeutil.Printer{Pkg: l.pkg.Types}.Signature(obj),
		Synopsis: source.Synopsis(l.pkg.Comment(obj.Pos())),
	}
}

// methods returns the methods that a type declares. An alias has those of another
// type, which are listed there.
func (l lister) methods(obj *types.TypeName) []listed {
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return nil
	}
	var out []listed
	for fn := range declaredMethods(named) {
		if fn.Exported() || l.internal {
			out = append(out, l.symbol(fn))
		}
	}
	slices.SortFunc(out, func(a, b listed) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func declaredMethods(named *types.Named) func(yield func(*types.Func) bool) {
	if t, ok := named.Underlying().(*types.Interface); ok {
		return t.ExplicitMethods()
	}
	return named.Methods()
}
