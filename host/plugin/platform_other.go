//go:build !linux

package plugin

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

// Conceal keeps other processes of this user, plugins among them, from reading this
// process's environment and memory. Only Linux has it.
//
// # Errors
//
// [errors.ErrUnsupported].
func Conceal() error { return errors.ErrUnsupported }

func concealed() bool { return false }

func privileged() bool { return false }

func weaken() {}

func limitProcesses(int) error { return nil }

// held is not needed where there are no leases.
type held struct{}

func (held) close() {}

func hold(context.Context, string) (held, error) { return held{}, nil }

// checkPeer does nothing here: the address was checked, and that is all.
func checkPeer(net.Conn, int) error { return nil }

// runCopy makes the command run a copy in place of the file at its path, which stays the
// name that the program sees.
func runCopy(cmd *exec.Cmd, p *pin) (done func(), err error) {
	if p != nil {
		cmd.Path = p.file.Path()
	}
	return func() {}, nil
}
