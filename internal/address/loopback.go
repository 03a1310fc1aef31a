package address

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether a name or address, without a port, is localhost or a loopback address. Other
// names may lead here, or not.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
