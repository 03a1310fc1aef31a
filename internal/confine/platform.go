package confine

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate makes the process of a command the leader of a session of its own, and with it
// of a group: what it starts can be ended with it, a terminal's Ctrl-C does not reach it,
// and it has no controlling terminal. In the session of its parent it could open /dev/tty,
// read what a person types, and answer a question itself (TIOCSTI). On Linux it also gets
// namespaces, and is killed when the thread that starts it ends (prctl(2),
// PR_SET_PDEATHSIG).
func Isolate(cmd *exec.Cmd, n Namespaces) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	addNamespaces(cmd.SysProcAttr, n)
}

// Kill kills a process that has not been reaped, and its group, which it may have left.
func Kill(pid int) {
	KillGroup(pid)
	_ = unix.Kill(pid, unix.SIGKILL)
}

// Terminate asks the processes of a group to end (SIGTERM).
func Terminate(pid int) { _ = unix.Kill(-pid, unix.SIGTERM) }

// KillGroup kills what a process started and left in its group. Errors mean that nothing
// is left.
func KillGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// SignalName names the signal that ended a process, such as "SIGKILL"; empty: none did.
func SignalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
