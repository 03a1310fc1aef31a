package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	if launching() {
		fmt.Fprintln(os.Stderr, launch())
		os.Exit(launchFailed)
	}
	e := newEvaluator()
	pluginsdk.Plugin{
		Name:         "execution",
		Version:      "0.1.0",
		Tools:        e.tools(),
		ConfigSchema: configSchema,
		Configure: func(_ context.Context, c pluginsdk.Config) error {
			return e.configure(c)
		},
		KeepsSessions: true,
		Processors:    pluginsdk.AllProcessors, // packages are type-checked side by side
	}.Main()
}

// tools are what the plugin serves.
func (e *evaluator) tools() []tool.Tool {
	return []tool.Tool{e.evalForm(), e.compileForm(), e.getLastError(), e.getHistory()}
}
