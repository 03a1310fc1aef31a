package plugin

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent ends the process when the host is gone, however it went. The
// signal is tied to the thread that forks: see spawner.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

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
