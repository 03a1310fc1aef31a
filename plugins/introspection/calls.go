package main

import (
	"context"
	"go/types"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type callsIn struct {
	Function string `json:"function" jsonschema:"Name, pkg.Name, Type.Method or pkg.Type.Method of a function, a method or an interface's method; pkg is a package's name, import path or the end of its path"`
	Package  string `json:"package,omitempty" jsonschema:"where the function is: an import path, a directory relative to the workspace (./host) or a package name; default: the package that function names, else the workspace's packages"`
}

// callers is what who_calls answers. The lists are sorted by position.
type callers struct {
	Function   string   `json:"function" jsonschema:"import path and name, with the type that declares it for a method"`
	Position   string   `json:"position,omitempty" jsonschema:"where it is declared: path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	Calls      []called `json:"calls"`
	Total      int      `json:"total" jsonschema:"how many calls there are, listed or not"`
	ValueUses  []called `json:"value_uses,omitempty" jsonschema:"where the function is used as a value without being called: who calls that value is not followed"`
	ValueTotal int      `json:"value_uses_total,omitempty" jsonschema:"how many of these there are, listed or not"`
	Errors     []string `json:"errors,omitempty" jsonschema:"what does not compile in the packages that were searched; calls there may be missing"`
}

type called struct {
	site
	Via       string `json:"via,omitempty" jsonschema:"the method of an interface that is called: whether the call reaches the function depends on the value in the interface"`
	Statement string `json:"statement,omitempty" jsonschema:"go or defer, where it is such a statement's call"`
}

func (w *workspace) whoCalls() tool.Tool {
	return pluginsdk.Func("who_calls",
		"Lists the calls of a Go function or method in the workspace, test files included, each with its position, the function that it is in, and its line. "+
			"A call through an interface says so in via: for a method these are all calls of interface methods that a type with the method satisfies. "+
			"Calls in dependencies, by reflection, or of a function's value are not found; where the value is taken is listed apart.",
		w.calls,
		pluginsdk.Title("Who calls a Go function"), pluginsdk.Safe(), pluginsdk.Categories("introspection", "xref"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("function", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) calls(ctx context.Context, in callsIn) (callers, error) {
	p, t, err := w.search(ctx, in.Function, in.Package)
	if err != nil {
		return callers{}, err
	}
	if err := t.mustBeFunction(); err != nil {
		return callers{}, err
	}
	out := callers{Function: string(t.key), Position: t.position, Calls: []called{}, Errors: p.faults()}
	text := lines{}
	for _, f := range t.callsIn(p) {
		list, total := &out.ValueUses, &out.ValueTotal
		if f.access.calls() {
			list, total = &out.Calls, &out.Total
		}
		if *total++; len(*list) < maxSites {
			*list = append(*list, w.called(f, text))
		}
	}
	return out, nil
}

// callsIn are all uses of a function, by its name or through an interface.
func (t *target) callsIn(p *program) []finding {
	found := p.static(t.key)
	fn, ok := t.object.(*types.Func)
	if !ok {
		return sorted(found)
	}
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		for i := range found {
			found[i].via = string(t.key)
		}
	}
	return sorted(append(found, p.dynamic(fn, t.key)...))
}

func (w *workspace) called(f finding, text lines) called {
	out := called{site: w.site(f, text), Via: f.via}
	switch f.access {
	case accessGo:
		out.Statement = "go"
	case accessDefer:
		out.Statement = "defer"
	}
	return out
}
