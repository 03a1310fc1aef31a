package plugin

import "golang.org/x/sys/unix"

// reservedProcesses is how many of its user's processes and threads only the host can still
// start when plugins have used up all others: without any left, the Go runtime ends the
// host.
const reservedProcesses = 64

// processLimit returns a plugin's limit of processes (RLIMIT_NPROC). It is hard and soft, so
// that only a process with the right to ignore it can raise it. The kernel counts all
// processes and threads of the user, and compares that with the limit of the process that
// starts one more. Of a small limit plugins get three quarters, which they need to work.
func processLimit() (limit unix.Rlimit) {
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return unix.Rlimit{Cur: limit.Cur, Max: limit.Max}
	}
	limit.Cur -= min(reservedProcesses, limit.Cur/4)
	limit.Max = limit.Cur
	return limit
}

// limitProcesses sets the limit of a process that was started without the stage, which
// may have started others by now.
func limitProcesses(pid int) error {
	limit := processLimit()
	return unix.Prlimit(pid, unix.RLIMIT_NPROC, &limit, nil)
}
