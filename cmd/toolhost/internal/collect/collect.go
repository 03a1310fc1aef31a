// Package collect sets the runtime up for a command, which most often ends before a collection of garbage would free
// anything. It imports next to nothing, so that it comes before the packages that allocate most of what there is
// before main: the first collection, at 3 MB, would begin among them.
package collect

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

func init() { //nolint:gochecknoinits // main is too late
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if !slices.Contains(os.Args, "serve") { // nothing serves profiles, of which one in 512 KiB takes 1.5 % of a command
		runtime.MemProfileRate = 0
	}
	touch(new([stackOfCommand]byte))
}

// stackOfCommand is what package initialisation and a command need of the stack of main, in bytes. It would double
// three times on the way, and each time all frames are copied.
const stackOfCommand = 24 << 10

//go:noinline
func touch(*[stackOfCommand]byte) {}
