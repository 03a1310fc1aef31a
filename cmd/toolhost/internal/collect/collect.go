// Package collect makes collections of garbage rare in a command, which most often ends before one would free
// anything. It imports next to nothing, so that it comes before the packages that allocate most of what there is
// before main: the first collection, at 3 MB, would begin among them.
package collect

import (
	"os"
	"runtime/debug"
)

func init() { //nolint:gochecknoinits // main is too late
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
