// Command introspection is a toolhost plugin that answers questions about Go code
// the way the compiler sees it: what a symbol is, what a package offers, how types
// are related, what an expression means. It reads the workspace, the modules that it
// depends on and the standard library, and changes nothing.
//
// Its packages depend on each other in one direction. plugins/internal/source reads files,
// internal/check loads and type-checks packages, internal/lookup finds what a caller
// names, and internal/tools has the tools. Next to these, internal/typeutil answers
// questions about single types, internal/xref finds uses of symbols, and
// internal/expand serves macroexpand_form.
package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/internal/gocache"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/tools"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	gocache.Main()
	w := &check.Workspace{}
	pluginsdk.Plugin{
		Name:    "introspection",
		Version: "0.1.0",
		Tools:   tools.All(w),
		Configure: func(_ context.Context, c pluginsdk.Config) error {
			gocache.Use()
			return w.Open(c.Root)
		},
		Needs: &tool.Needs{
			Read: []string{tool.Workspace, gocache.User}, Write: []string{tool.Cache},
			Exec: gocode.Toolchain(),
		},
		Processors: pluginsdk.AllProcessors, // packages are type-checked in parallel
	}.Main()
}
