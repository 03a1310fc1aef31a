//go:build unix

package toolserver

import (
	"os/exec"
	"syscall"
)

// startAlone starts a process in a session of its own.
func startAlone(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
