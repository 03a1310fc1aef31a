package host

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Default returns the host of the package-level functions, for programs that need only one:
// it has no grants, no approver and no plugins until they are added. The first call makes
// it.
var Default = sync.OnceValue(func() *Host {
	h, err := New()
	if err != nil {
		panic(err) // the current directory is gone
	}
	return h
})

// Register is [Host.Register] on [Default].
func Register(t tool.Tool) error { return Default().Register(t) }

// Replace is [Host.Replace] on [Default].
func Replace(t tool.Tool) error { return Default().Replace(t) }

// Get is [Host.Get] on [Default].
func Get(name string) (Tool, bool) { return Default().Get(name) }

// List is [Host.List] on [Default].
func List(ctx context.Context) ([]tool.Definition, error) { return Default().List(ctx) }

// Execute is [Host.Execute] on [Default]: tools that need a capability or an approval are
// refused. A [Host.Session] of Default runs those.
func Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return Default().Execute(ctx, call)
}
