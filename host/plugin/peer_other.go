//go:build !linux

package plugin

import "net"

// checkPeer has no counterpart here: the address was looked at, and that is all.
func checkPeer(net.Conn, int) error { return nil }
