package pluginrun

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/sandbox"
)

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

// What a plugin has if nothing else is said: processes and threads together, if a control group can
// bound them, and then half of the machine's memory; descriptors of each process; and signals that wait.
const (
	defaultPIDs    = 4096
	defaultFiles   = 65536
	defaultSignals = 4096
)

// withDefaults bounds what nothing else does. Of descriptors and signals it is at most half of what this
// process may have: the kernel counts signals that wait, and descriptors that were sent and are not received
// yet, for all processes of a user, and compares that with the limit of who wants one more. So this process and
// the stage have theirs whatever plugins hold.
func withDefaults(l sandbox.Limits, f sandbox.Features) (sandbox.Limits, error) {
	half := func(resource int, most uint64) int {
		var have unix.Rlimit
		_ = unix.Getrlimit(resource, &have)
		return int(min(most, have.Max/2)) //nolint:gosec // small
	}
	if !f.Stage {
		return l, nil
	}
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return l, err
	}
	l.Files = cmp.Or(l.Files, half(unix.RLIMIT_NOFILE, defaultFiles))
	l.Signals = half(unix.RLIMIT_SIGPENDING, defaultSignals)
	memory := int64(uint64(machine.Totalram)*uint64(machine.Unit)/2) &^ (1<<20 - 1) //nolint:gosec,unconvert // of a machine; some have fields of 32 bits
	can, err := grouped(cgroup.Limits{Memory: memory, PIDs: defaultPIDs})
	if slices.Contains(can, cgroup.Memory) {
		l.Memory = cmp.Or(l.Memory, memory)
	}
	if slices.Contains(can, cgroup.PIDs) {
		l.PIDs = cmp.Or(l.PIDs, defaultPIDs)
	}
	return l, err
}
