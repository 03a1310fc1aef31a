//go:build !unix

package plugin

import (
	"os"
	"os/exec"
)

// Process groups and parent-death signals are not available here; toolhost
// doctor says so.
func isolate(*exec.Cmd, Namespace) (namespaced bool) { return false }

// closeOthers is not needed: only what is named is inherited here.
func closeOthers(*exec.Cmd) {}

func awaitExit(int) bool { return false }

func killProcess(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func killGroup(int) {}

func signalName(*os.ProcessState) string { return "" }
