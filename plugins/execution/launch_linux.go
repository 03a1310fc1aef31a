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

// leaveProcesses lets the program have fewer processes than the plugin, which without any
// left for its threads is ended by the Go runtime: 64, or a quarter of a small limit.
// It does not bind root.
func leaveProcesses() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &now); err != nil || now.Cur == unix.RLIM_INFINITY {
		return err
	}
	return lower(unix.RLIMIT_NPROC, now.Cur-min(64, now.Cur/4))
}
