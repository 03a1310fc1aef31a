//go:build unix

package plugin

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate makes the process the leader of a group of its own, so that what it
// starts can be ended with it and a terminal's Ctrl-C does not reach it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// killGroup ends the process and what it started and left in its group. Errors
// mean that nobody is left.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

func signalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
