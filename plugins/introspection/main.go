package main

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	w := &workspace{}
	pluginsdk.Plugin{
		Name:    "introspection",
		Version: "0.1.0",
		Tools:   w.tools(),
		Configure: func(_ context.Context, c pluginsdk.Config) error {
			return w.open(c.Root)
		},
		Processors: pluginsdk.AllProcessors, // packages are type-checked side by side
	}.Main()
}

// tools are what the plugin serves.
func (w *workspace) tools() []tool.Tool {
	return []tool.Tool{w.describeSymbol(), w.listPackageSymbols(), w.aproposSearch(), w.functionArglist(), w.classSlots(), w.classHierarchy(), w.macroexpandForm(), w.whoCalls(), w.whoReferences()}
}
