package pluginrun

import (
	"github.com/toolhost/toolhost/internal/socketpair"
)

// offerSockets makes the socket pairs that the process inherits ends of: one for calls, unless
// another carrier was chosen, and one for gRPC. If the first cannot be made, calls travel on the next carrier.
func (p *process) offerSockets() (err error) {
	if p.cmd.inheritSocket {
		if p.socket, p.cmd.socket, err = socketpair.New(); err != nil {
			p.log.Warn("no socket for the plugin's calls; they take the stream", "error", err)
		}
	}
	if p.grpc.ours, p.cmd.grpc, err = socketpair.New(); err != nil {
		return notConfined(err)
	}
	return nil
}
