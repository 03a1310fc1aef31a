//go:build !linux && !darwin && !freebsd

package control

import (
	"net"
	"runtime"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Claim is the right to serve on a socket, which is not available here.
type Claim struct{}

// Take fails: a daemon cannot tell here who is at the other end of a socket.
func Take(string, Holder) (*Claim, error) {
	return nil, &tool.Error{
		Code:    tool.CodeUnavailable,
		Message: "there is no daemon on " + runtime.GOOS + ": the system does not say who connects to a socket",
		Hint:    "use the commands on their own",
	}
}

// Listen fails.
func (*Claim) Listen(int, func(int) bool, func(error)) (net.Listener, error) {
	return nil, net.ErrClosed
}

// Share fails.
func (*Claim) Share(bool) error { return net.ErrClosed }

// Release does nothing.
func (*Claim) Release() error { return nil }

func connect(string, bool) (net.Conn, error) { return nil, ErrNoDaemon }

func isHeld(string, int) bool { return false }

func binaryOf(int) (binary, name string) { return "", "" }
