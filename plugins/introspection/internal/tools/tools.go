// Package tools has the tools of the plugin, one in each file. See [All].
package tools

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
)

// All returns the tools that answer questions about a workspace.
func All(w *check.Workspace) []tool.Tool {
	return []tool.Tool{
		describeSymbol(w), listPackageSymbols(w), aproposSearch(w), functionArglist(w), classSlots(w),
		classHierarchy(w), macroexpandForm(w), whoCalls(w), whoReferences(w), showSource(w), outlineFile(w), listPackages(w),
	}
}

const (
	// timeout is how long a call may take: if the build cache is cold, the go command
	// compiles everything that the package imports.
	timeout = 2 * time.Minute

	// nameLimit is the schema of every name that a caller gives.
	nameLimit = `{"minLength": 1, "maxLength": 512}`
)

// handler computes what a tool returns.
type handler[In, Out any] func(context.Context, *check.Workspace, In) (Out, error)

// onPlatform is an input that says which platform it is about.
type onPlatform interface {
	platform() (check.Platform, error)
}

// define returns a tool with the options that all of them share.
func define[In onPlatform, Out any](
	w *check.Workspace, name, description string, fn handler[In, Out], options ...pluginsdk.Option,
) tool.Tool {
	bound := func(ctx context.Context, in In) (Out, error) {
		platform, err := in.platform()
		if err != nil {
			var none Out
			return none, err
		}
		return fn(ctx, w.On(platform), in)
	}
	options = append(options, buildArguments()...)
	return pluginsdk.Func(name, description, bound, append(options,
		pluginsdk.Safe(), pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(timeout))...)
}
