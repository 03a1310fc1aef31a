package tools

import (
	"context"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type callsIn struct {
	Function string `json:"function" jsonschema:"Name, pkg.Name, Type.Method or pkg.Type.Method, also of an interface's method; pkg is a name, an import path or the end of one"`
	Package  string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what function names, else the workspace"`
	within
}

// callers is the answer of who_calls. The lists are sorted by position,
// and limit and offset count through both.
type callers struct {
	Function   string   `json:"function" jsonschema:"import path and name, with the type that declares it for a method"`
	Position   string   `json:"position,omitempty" jsonschema:"of the declaration: path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	Calls      []called `json:"calls"`
	Total      int      `json:"total" jsonschema:"how many calls there are in the scope, including those not listed"`
	ValueUses  []called `json:"value_uses,omitempty" jsonschema:"where the function is used as a value without being called; calls of that value are not followed"`
	ValueTotal int      `json:"value_uses_total,omitempty" jsonschema:"how many of these there are, including those not listed"`
	rest
	LeftOut string   `json:"left_out,omitempty" jsonschema:"the files that build constraints leave out, where calls may be missing"`
	Errors  []string `json:"errors,omitempty" jsonschema:"what does not compile in the packages that were searched, where calls may be missing"`
}

type called struct {
	site
	Via       string `json:"via,omitempty" jsonschema:"the method of an interface that is called: whether the call reaches the function depends on the value in the interface"`
	Statement string `json:"statement,omitempty" jsonschema:"go or defer, if the call is in such a statement"`
}

func whoCalls(w *check.Workspace) tool.Tool {
	return define(w, "who_calls",
		"Lists the calls of a Go function or method in the workspace, tests included, each with its position, "+
			"the function that it is in, and its line. For a method it includes calls through every interface that a "+
			"type with the method satisfies, with the interface's method in via. Uses as a value are listed "+
			"separately; calls of that value, by reflection and in dependencies are not found.",
		findCalls, append(withinArguments(), pluginsdk.Title("Who calls a Go function"),
			pluginsdk.Categories("introspection", "xref"), pluginsdk.Argument("function", nameLimit),
			pluginsdk.Argument("package", nameLimit))...)
}

func findCalls(ctx context.Context, w *check.Workspace, in callsIn) (callers, error) {
	t, err := lookup.FindTarget(ctx, w, in.Function, in.Package)
	if err != nil {
		return callers{}, err
	}
	if err := t.Callable(); err != nil {
		return callers{}, err
	}
	filter, err := newUseFilter(ctx, t.Finder, in.within)
	if err != nil {
		return callers{}, err
	}
	out := callers{
		Function: t.Title(), Position: t.Position, Calls: []called{}, Errors: t.Errors(),
		LeftOut: leftOut(t.Finder, filter, t.Object.Name()),
	}
	var values []xref.Reference
	pages, sites := newPager(in.page, maxLimit), newSiteReader(t.Finder.Snapshot.Root)
	list := func(to *[]called, ref xref.Reference) {
		if pages.wants() {
			add(pages, to, newCalled(ref, sites))
		} else {
			pages.skip()
		}
	}
	for _, ref := range filter.pick(t.Program.Calls(t.Object, t.Key)) {
		if ref.Access.IsCall() {
			out.Total++
			list(&out.Calls, ref)
		} else {
			values = append(values, ref)
		}
	}
	for _, ref := range values {
		list(&out.ValueUses, ref)
	}
	out.ValueTotal, out.rest = len(values), pages.rest()
	return out, nil
}

func newCalled(ref xref.Reference, sites siteReader) called {
	out := called{site: sites.site(ref), Via: string(ref.Via)}
	switch ref.Access {
	case xref.GoCall:
		out.Statement = "go"
	case xref.DeferCall:
		out.Statement = "defer"
	}
	return out
}
