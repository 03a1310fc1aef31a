package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOthers keeps every descriptor but the three from the program, those too
// that something in the plugin opened to be inherited.
func closeOthers() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // before Linux 5.11: what Go opened is closed anyway
}
