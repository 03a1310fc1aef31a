//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup has a program and its children end together: a plugin of go-plugin
// outlives a host that is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// freeze stops a process, which does not end it.
func freeze(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
