//go:build !linux

package pluginrun

import (
	"context"
	"net"
	"os/exec"

	"github.com/toolhost/toolhost/internal/sandbox"
)

func concealed() bool { return false }

func privileged() bool { return false }

func dropRights() {}

func limitProcesses(int) error { return nil }

func withDefaults(l sandbox.Limits, _ sandbox.Features) (sandbox.Limits, error) { return l, nil }

// openFiles is not needed on systems without leases.
type openFiles struct{}

func (openFiles) close() {}

func openProgram(context.Context, string) (openFiles, error) { return openFiles{}, nil }

// checkPeer does nothing here: the address was checked, and that is all.
func checkPeer(net.Conn, int) error { return nil }

// checkPeerUser does nothing here either.
func checkPeerUser(net.Conn) error { return nil }

// runCopy makes the command run a copy in place of the file at its path, which stays the
// name that the program sees.
func runCopy(cmd *exec.Cmd, p *pinnedCopy) (done func(), err error) {
	if p != nil {
		cmd.Path = p.file.Path()
	}
	return func() {}, nil
}
