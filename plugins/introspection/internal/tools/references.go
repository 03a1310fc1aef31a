package tools

import (
	"context"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type referencesIn struct {
	Variable string `json:"variable" jsonschema:"Name, pkg.Name, Type.field or pkg.Type.field; pkg is a name, an import path or the end of one"`
	Package  string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what variable names, else the workspace"`
	within
}

// references is the answer of who_references, sorted by position.
type references struct {
	Symbol     string         `json:"symbol" jsonschema:"import path and name, with the type that declares it for a field or method"`
	Kind       string         `json:"kind" jsonschema:"var, const, field, type, func, method or builtin"`
	Position   string         `json:"position,omitempty" jsonschema:"of the declaration: path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	References []referred     `json:"references"`
	Total      int            `json:"total" jsonschema:"how many references there are in the scope, including those not listed"`
	Accesses   map[string]int `json:"accesses" jsonschema:"how many references there are of each access, including those not listed"`
	rest
	LeftOut string   `json:"left_out,omitempty" jsonschema:"the files that build constraints leave out, where references may be missing"`
	Errors  []string `json:"errors,omitempty" jsonschema:"what does not compile in the packages that were searched, where references may be missing"`
}

type referred struct {
	site
	Access string `json:"access" jsonschema:"read; write (assigned, or set in a composite literal); read_write (x++, x += 1); address (taken by & or by a method with a pointer receiver, which may write it); type (a type is named); call (a function is called)"`
}

func whoReferences(w *check.Workspace) tool.Tool {
	return define(w, "who_references",
		"Lists every use of a Go variable, constant, field, type or function in the workspace, tests included, "+
			"each with its position, its access (read, write, read_write, address, type, call), the function that it "+
			"is in, and its line. Does not find uses in dependencies, nor fields that a composite literal sets "+
			"without naming them.",
		findReferences, append(withinArguments(), pluginsdk.Title("Who refers to a Go symbol"),
			pluginsdk.Categories("introspection", "xref"), pluginsdk.Argument("variable", nameLimit),
			pluginsdk.Argument("package", nameLimit))...)
}

func findReferences(ctx context.Context, w *check.Workspace, in referencesIn) (references, error) {
	t, err := lookup.FindTarget(ctx, w, in.Variable, in.Package)
	if err != nil {
		return references{}, err
	}
	filter, err := newUseFilter(ctx, t.Finder, in.within)
	if err != nil {
		return references{}, err
	}
	out := references{
		Symbol: t.Title(), Kind: typeutil.Kind(t.Object), Position: t.Position, References: []referred{},
		Accesses: map[string]int{}, Errors: t.Errors(), LeftOut: leftOut(t.Finder, filter, t.Object.Name()),
	}
	pages, sites := newPager(in.page, maxLimit), newSiteReader(t.Finder.Snapshot.Root)
	for _, ref := range filter.pick(t.Program.References(t.Key)) {
		access := ref.Access.String()
		out.Accesses[access]++
		out.Total++
		if pages.wants() {
			add(pages, &out.References, referred{sites.site(ref), access})
		} else {
			pages.skip()
		}
	}
	out.rest = pages.rest()
	return out, nil
}
