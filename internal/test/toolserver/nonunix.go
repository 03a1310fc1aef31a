//go:build !unix

package toolserver

import "os/exec"

func startAlone(cmd *exec.Cmd) error { return cmd.Start() }
