// Package loopback has the rule for what surely is this machine, and so may be spoken to in plain text.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether a name or address, without a port, is localhost or a loopback address. Other
// names may lead here, or not.
func Is(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
