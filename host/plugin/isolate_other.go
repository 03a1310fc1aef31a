//go:build !unix

package plugin

import (
	"os"
	"os/exec"
)

// Process groups and parent-death signals are not available here; toolhost
// doctor says so.
func isolate(*exec.Cmd) {}

func awaitExit(int) bool { return false }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func signalName(*os.ProcessState) string { return "" }
