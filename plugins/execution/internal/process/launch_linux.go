package process

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// executable returns what this process runs. It may be in memory, without a path of its own.
func executable() (string, error) { return "/proc/self/exe", nil }

// inSandbox reports whether the plugin has a PID namespace of its own, and its system calls are
// filtered.
func inSandbox() bool {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return os.Getpid() == 1 && err == nil && mode != 0
}

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
