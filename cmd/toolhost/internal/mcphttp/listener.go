package mcphttp

import (
	"fmt"
	"net"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
)

// Listen opens an address, for so many connections at a time. What is not encrypted is for
// programs of this machine only.
//
// # Errors
//
// [*exit.Error] for an address that is not of the loopback without encryption, or that cannot be
// opened.
func Listen(address string, encrypted bool, most int) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, exit.Usage(fmt.Sprintf("--listen: %q is not an address: %v", address, err), "use one such as 127.0.0.1:7411")
	}
	if !encrypted && !at.IP.IsLoopback() {
		return nil, exit.Usage(fmt.Sprintf("--listen: %q is reached from other machines, and tokens would travel there in plain text", address),
			"set mcp.tls.cert and mcp.tls.key in the configuration, or listen on a loopback address such as 127.0.0.1:7411")
	}
	network := "tcp"
	if at.IP.To4() != nil { // 0.0.0.0 would be all addresses of IPv6, too
		network = "tcp4"
	}
	ln, err := net.ListenTCP(network, at)
	if err != nil {
		return nil, exit.With(exit.Failed, fmt.Errorf("--listen: %q cannot be opened: %w: name another address", address, err))
	}
	return crowd.New(ln, most), nil
}
