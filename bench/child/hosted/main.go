// Command hosted is a plugin of toolhost, as an author writes one. Its tools ask
// for everything that a host can check about a call that needs no approval.
package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	// The limit is counted at every call, and reached by none.
	often := pluginsdk.RateLimit(100_000_000, time.Second)
	pluginsdk.Main(
		serve(work.Echo, often, pluginsdk.Idempotent(2)),
		serve(work.Blob, often, pluginsdk.Idempotent(2)),
		serve(work.Once, often),
	)
}

func serve(name string, opts ...pluginsdk.Option) tool.Tool {
	opts = append(opts, pluginsdk.Safe(), pluginsdk.Permission(work.Permission))
	return pluginsdk.Func(name, work.Describe(name),
		func(_ context.Context, a work.Args) (string, error) { return work.Run(name, a) }, opts...)
}
