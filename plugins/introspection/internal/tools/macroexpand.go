package tools

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/expand"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type macroexpandIn struct {
	Form    string `json:"form" jsonschema:"an expression such as Map(items, name), not a statement"`
	Full    bool   `json:"full,omitempty" jsonschema:"replace constant expressions by their values too"`
	Package string `json:"package,omitempty" jsonschema:"whose unexported names and imports the form sees: import path, directory (./host) or package name; default: the one package of the workspace that has the form's names"`
	build
}

// expansion is the answer of macroexpand_form.
type expansion struct {
	Expanded string      `json:"expanded" jsonschema:"the form, with the type arguments, embedded fields, conversions, & and * that Go leaves unsaid"`
	Type     string      `json:"type,omitempty" jsonschema:"of the expression; several values are in parentheses"`
	Value    string      `json:"value,omitempty" jsonschema:"of a constant expression"`
	Package  string      `json:"package,omitempty" jsonschema:"import path of the package that the form stands in; missing if it needs none"`
	Imports  []importing `json:"imports,omitempty" jsonschema:"the packages that the expansion names"`
	Notes    []string    `json:"notes,omitempty" jsonschema:"why the expansion does not compile"`
	Errors   []string    `json:"errors,omitempty" jsonschema:"why the package does not compile; the answer has what could be found out nevertheless"`
}

type importing struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func macroexpandForm(w *check.Workspace) tool.Tool {
	running := make(chan struct{}, maxForms)
	return define(w, "macroexpand_form",
		"Writes out what a Go expression leaves unsaid: inferred type arguments, promoted selectors in full, "+
			"implicit conversions of constants and to interfaces, implicit & and *; bodies of function literals stay "+
			"as they are. The form is type-checked in a package, never run: eval_form runs code.",
		func(ctx context.Context, w *check.Workspace, in macroexpandIn) (expansion, error) {
			return macroexpand(ctx, w, in, running)
		},
		pluginsdk.Title("Write out what Go leaves unsaid"), pluginsdk.Categories("introspection"),
		pluginsdk.Argument("form", fmt.Sprintf(`{"minLength": 1, "maxLength": %d}`, expand.MaxForm)),
		pluginsdk.Argument("full", `{"default": false}`), pluginsdk.Argument("package", nameLimit))
}

func macroexpand(
	ctx context.Context, w *check.Workspace, in macroexpandIn, running chan struct{},
) (expansion, error) {
	form, err := expand.Parse(in.Form)
	if err != nil {
		return expansion{}, err
	}
	f, err := lookup.New(ctx, w, in.Package)
	if err != nil {
		return expansion{}, err
	}
	scope, err := expand.NewScope(ctx, f, form, in.Package)
	if err != nil {
		return expansion{}, err
	}
	found, err := expandForm(ctx, running, scope, form, in.Full)
	if err != nil {
		return expansion{}, err
	}
	out := expansion{
		Expanded: found.Text, Type: found.Type, Value: found.Value, Notes: found.Notes,
	}
	for _, name := range source.SortedKeys(found.Imports) {
		out.Imports = append(out.Imports, importing{Name: name, Path: found.Imports[name]})
	}
	if scope.Package != nil {
		out.Package, out.Errors = scope.Package.Node.Path, scope.Package.Errors
	}
	return out, nil
}

// maxForms is how many forms are expanded at once.
const maxForms = 4

// expandForm expands a form, and returns when ctx ends. The type checker then goes on
// in the background, because it cannot be stopped, and keeps its place in running: if
// that is full, no other form is begun.
func expandForm(
	ctx context.Context, running chan struct{}, scope *expand.Scope, form *expand.Form, full bool,
) (expand.Expansion, error) {
	select {
	case running <- struct{}{}:
	case <-ctx.Done():
		return expand.Expansion{}, ctx.Err()
	}
	type result struct {
		expansion expand.Expansion
		err       error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the type checker failed on the form: %v", p)
			}
			<-running
			done <- r
		}()
		r.expansion, r.err = scope.Expand(form, full)
	}()
	select {
	case r := <-done:
		return r.expansion, r.err
	case <-ctx.Done():
		return expand.Expansion{}, ctx.Err()
	}
}
