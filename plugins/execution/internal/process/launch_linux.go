package process

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOthers keeps every descriptor but the three from the program, including those that
// something in the plugin opened to be inherited.
func closeOthers() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // before Linux 5.11: what Go opened is closed anyway
}

// leaveProcesses gives the program a lower limit of processes than the plugin has, by 64 or
// a quarter of a small limit: without any left for its threads the Go runtime would end the
// plugin. The limit does not bind root.
func leaveProcesses() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &now); err != nil || now.Cur == unix.RLIM_INFINITY {
		return err
	}
	return lower(unix.RLIMIT_NPROC, now.Cur-min(64, now.Cur/4))
}
