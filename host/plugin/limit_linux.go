package plugin

import "golang.org/x/sys/unix"

// reservedProcesses is how many processes and threads of its user's number only the host
// can still start when plugins have taken all others: without any left, the Go runtime
// ends the host.
const reservedProcesses = 64

// processLimit is a plugin's limit of processes (RLIMIT_NPROC), hard and soft, so that it
// can be raised with a right alone that gets by without it. The kernel counts all
// processes and threads of the user, and compares that with the limit of whoever wants one
// more. A small limit keeps three quarters: who has so little needs most of it to work.
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
