package main

import (
	"context"
	"errors"
	"go/doc"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type listIn struct {
	Package         string `json:"package" jsonschema:"an import path, a directory relative to the workspace (./host) or a package name"`
	IncludeInternal bool   `json:"include_internal,omitempty" jsonschema:"list unexported symbols too; default: false"`
}

// listing is what list_package_symbols answers. All groups are sorted by name.
type listing struct {
	Package   string       `json:"package" jsonschema:"import path"`
	Name      string       `json:"name"`
	Synopsis  string       `json:"synopsis,omitempty" jsonschema:"first sentence of the package's documentation"`
	Constants []listed     `json:"constants"`
	Variables []listed     `json:"variables"`
	Functions []listed     `json:"functions"`
	Types     []listedType `json:"types"`
	Omitted   int          `json:"omitted,omitempty" jsonschema:"how many symbols were left out of groups that are too long"`
	Errors    []string     `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer is what could be found out all the same"`
}

type listed struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
	Synopsis  string `json:"synopsis,omitempty"`
}

type listedType struct {
	listed
	Methods []listed `json:"methods,omitempty" jsonschema:"those that the type declares; describe_symbol gives the promoted ones too"`
}

// maxListed bounds each group of a listing. Packages of system calls have many
// thousands of constants.
const maxListed = 1000

func (w *workspace) listPackageSymbols() tool.Tool {
	return pluginsdk.Func("list_package_symbols",
		"Lists what a Go package declares, grouped into constants, variables, functions and types with their methods, "+
			"each with its signature and one line of documentation. Works for the workspace, its dependencies and the standard library.",
		w.list,
		pluginsdk.Title("List a Go package's symbols"), pluginsdk.Safe(), pluginsdk.Categories("introspection", "packages"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) list(ctx context.Context, in listIn) (listing, error) {
	if err := denied(in.Package); err != nil {
		return listing{}, err
	}
	v, err := w.view(ctx)
	if err != nil {
		return listing{}, err
	}
	n, err := v.pkg(ctx, in.Package)
	if err != nil {
		return listing{}, err
	}
	if len(n.files) == 0 {
		return listing{}, errors.New(v.noFiles(n))
	}
	u, err := v.unit(ctx, n)
	if err != nil {
		return listing{}, err
	}
	return u.listing(in.IncludeInternal), nil
}

func (u *unit) listing(internal bool) listing {
	out := listing{
		Package: u.PkgPath, Name: u.Name, Synopsis: synopsis(u.packageComment()), Errors: u.errors,
		Constants: []listed{}, Variables: []listed{}, Functions: []listed{}, Types: []listedType{},
	}
	scope := u.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() && !internal {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			add(&out.Constants, u.listed(obj), &out.Omitted, maxListed)
		case *types.Var:
			add(&out.Variables, u.listed(obj), &out.Omitted, maxListed)
		case *types.TypeName:
			add(&out.Types, listedType{u.listed(obj), u.listedMethods(obj, internal)}, &out.Omitted, maxListed)
		default:
			add(&out.Functions, u.listed(obj), &out.Omitted, maxListed)
		}
	}
	return out
}

// add appends to a group of at most limit, and counts what no longer fits.
func add[T any](group *[]T, one T, omitted *int, limit int) {
	if len(*group) < limit {
		*group = append(*group, one)
	} else {
		*omitted++
	}
}

func (u *unit) listed(obj types.Object) listed {
	return listed{
		Name: obj.Name(), Signature: printer{u.Types}.signature(obj), Synopsis: synopsis(u.comment(obj.Pos())),
	}
}

// listedMethods are the methods that a type declares itself. An alias has
// those of another type, which are listed there.
func (u *unit) listedMethods(obj *types.TypeName, internal bool) []listed {
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return nil
	}
	var out []listed
	for fn := range declaredMethods(named) {
		if fn.Exported() || internal {
			out = append(out, u.listed(fn))
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

// synopsis is the first sentence of a comment, on one line.
func synopsis(comment string) string {
	return new(doc.Package).Synopsis(comment)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
