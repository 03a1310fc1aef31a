//go:build !unix

package confine

import (
	"os"
	"os/exec"
)

// Isolate does nothing here.
func Isolate(*exec.Cmd, Namespaces) {}

// Kill kills a process.
func Kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// Terminate does nothing here.
func Terminate(int) {}

// KillGroup does nothing here.
func KillGroup(int) {}

// SignalName is empty here.
func SignalName(*os.ProcessState) string { return "" }
