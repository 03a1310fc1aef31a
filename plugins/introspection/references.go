package main

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type referencesIn struct {
	Variable string `json:"variable" jsonschema:"Name, pkg.Name, Type.field or pkg.Type.field of a variable, constant, field, type, function or method; pkg is a package's name, import path or the end of its path"`
	Package  string `json:"package,omitempty" jsonschema:"where it is: an import path, a directory relative to the workspace (./host) or a package name; default: the package that variable names, else the workspace's packages"`
}

// references is what who_references answers, sorted by position.
type references struct {
	Symbol     string         `json:"symbol" jsonschema:"import path and name, with the type that declares it for a field or method"`
	Kind       string         `json:"kind" jsonschema:"var, const, field, type, func, method or builtin"`
	Position   string         `json:"position,omitempty" jsonschema:"where it is declared: path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	References []referred     `json:"references"`
	Total      int            `json:"total" jsonschema:"how many references there are, listed or not"`
	Accesses   map[string]int `json:"accesses" jsonschema:"how many references of each access there are, listed or not"`
	Errors     []string       `json:"errors,omitempty" jsonschema:"what does not compile in the packages that were searched; references there may be missing"`
}

type referred struct {
	site
	Access string `json:"access" jsonschema:"read; write (assigned, or set in a composite literal); read_write (x++, x += 1); address (taken by & or by a method with a pointer receiver, so that it may be written); type (a type is named); call (a function is called)"`
}

func (w *workspace) whoReferences() tool.Tool {
	return pluginsdk.Func("who_references",
		"Lists every use of a Go variable, constant, field, type or function in the workspace, test files included, each with its position, "+
			"what is done there (read, write, read_write, address, type, call), the function that it is in, and its line. "+
			"Uses in dependencies are not found, nor are fields that a composite literal sets without naming them.",
		w.references,
		pluginsdk.Title("Who refers to a Go symbol"), pluginsdk.Safe(), pluginsdk.Categories("introspection", "xref"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("variable", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) references(ctx context.Context, in referencesIn) (references, error) {
	p, t, err := w.search(ctx, in.Variable, in.Package)
	if err != nil {
		return references{}, err
	}
	out := references{
		Symbol: string(t.key), Kind: kind(t.object), Position: t.position, References: []referred{},
		Accesses: map[string]int{}, Errors: p.faults(),
	}
	text := lines{}
	for _, f := range sorted(p.static(t.key)) {
		out.Accesses[f.access.String()]++
		if out.Total++; len(out.References) < maxSites {
			out.References = append(out.References, referred{w.site(f, text), f.access.String()})
		}
	}
	return out, nil
}
