package plugin

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// isolateMore has the kernel end the process when the host is gone, however it
// went (the signal is tied to the thread that forks: see start), and puts it into
// a namespace if chosen. It reports whether it did that.
func isolateMore(attr *syscall.SysProcAttr, n Namespace) (namespaced bool) {
	attr.Pdeathsig = syscall.SIGKILL
	return n.enter(attr)
}

// awaitExit returns true when the process has ended but is not reaped yet: as
// long as it is not, its number, and so its group's, cannot be given to another.
func awaitExit(pid int) bool {
	var info unix.Siginfo
	for {
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}
