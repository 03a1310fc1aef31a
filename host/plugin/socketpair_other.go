//go:build !unix

package plugin

import (
	"errors"
	"net"
	"os"
)

// socketPair has no counterpart here; the stream takes its place.
func socketPair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

// readNow has nothing to read from.
func readNow(net.Conn, []byte) int { return 0 }
