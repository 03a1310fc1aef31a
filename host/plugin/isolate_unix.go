//go:build unix

package plugin

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate makes the process the leader of a session of its own, and with it of a
// group: what it starts can be ended with it, a terminal's Ctrl-C does not reach it,
// and it has no controlling terminal. In the host's session it could open /dev/tty,
// read what a person types, and answer a question itself (TIOCSTI). It reports whether
// the process gets a namespace of its own.
func isolate(cmd *exec.Cmd, n Namespace) (namespaced bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return isolateMore(cmd.SysProcAttr, n)
}

// killProcess ends a process that is not reaped yet, and its group. It may have
// left the group.
func killProcess(pid int) {
	killGroup(pid)
	_ = unix.Kill(pid, unix.SIGKILL)
}

// killGroup ends what a process started and left in its group. Errors mean that
// nobody is left.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

func signalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}

// What is closed in the process beyond the descriptors that are open, as another
// thread may open some before the fork; what is thought open where the system does
// not tell; and what is left to the fork itself below the limit.
const (
	spare   = 64
	unknown = 1023
	forFork = 8
)

// closeOthers has all descriptors closed in the process but its three and those in
// ExtraFiles: libraries in the host may have opened some to be inherited. It
// happens between fork and exec, in the process's own table, where a missing file
// means that its number is closed. (Marking the host's as close-on-exec instead would
// take them from those who do want to hand them on.)
func closeOthers(cmd *exec.Cmd) {
	below := highestDescriptor() + 1 + spare
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < 1<<30 {
		below = min(below, int(limit.Cur)-forFork)
	}
	if missing := below - 3 - len(cmd.ExtraFiles); missing > 0 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, make([]*os.File, missing)...)
	}
}

// highestDescriptor is the highest number of an open descriptor.
func highestDescriptor() int {
	highest := 2
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return unknown
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}
