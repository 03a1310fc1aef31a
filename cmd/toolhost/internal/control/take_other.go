//go:build !linux && !darwin && !freebsd

package control

import (
	"net"
	"runtime"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Claim is the right to serve on a socket. Here nobody gets one.
type Claim struct{}

// Take fails: where the system does not say who is at the other end of a socket, a
// daemon would do as whoever asks.
func Take(string, Holder) (*Claim, error) {
	return nil, &tool.Error{
		Code: tool.CodeUnavailable, Message: "there is no daemon on " + runtime.GOOS + ": the system does not say who connects to a socket",
		Hint: "use the commands on their own",
	}
}

// Listen has nothing to listen on.
func (*Claim) Listen(int, func(error)) (net.Listener, error) { return nil, net.ErrClosed }

// Release has nothing to give up.
func (*Claim) Release() error { return nil }

func connect(string) (net.Conn, error) { return nil, ErrNoDaemon }
