// Command named is a plugin of toolhost with one tool, named for the file that it
// runs from: links to one binary make a whole directory of plugins.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/pluginsdk"
)

func main() {
	name := filepath.Base(os.Args[0])
	pluginsdk.Main(pluginsdk.Func(name, work.Describe(work.Echo),
		func(_ context.Context, a work.Args) (string, error) { return work.Run(work.Echo, a) },
		pluginsdk.Safe(), pluginsdk.Permission(work.Permission)))
}
