//go:build !linux

package plugin

import "os/exec"

// runCopy has the command run a copy in place of the file at its path, which stays the
// name that the program sees.
func runCopy(cmd *exec.Cmd, p *pin) (done func(), err error) {
	if p != nil {
		cmd.Path = p.file.Path()
	}
	return func() {}, nil
}
