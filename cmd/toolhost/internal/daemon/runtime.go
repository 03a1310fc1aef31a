package daemon

import (
	"os"
	"runtime"
	"runtime/debug"
)

// useProcessors has this process use so many processors, unless its environment says how many. A
// call passes through several goroutines and other processes: with all processors, each step wakes
// a thread that finds nothing to do, while the plugin waits for the processor.
func useProcessors(n int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n)
	}
}

// collectMore has garbage collected as often as in other programs. Main sets what suits commands,
// which end soon. It suits MCP too: the SDK decodes each value with a buffer of 32 KiB, and with 100
// there was a collection every 20 calls, which took a quarter of the processor's time.
func collectMore() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}
