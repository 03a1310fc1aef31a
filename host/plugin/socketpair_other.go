//go:build !unix

package plugin

import (
	"errors"
	"net"
	"os"
)

// socketPair has no counterpart here; the stream takes its place.
func socketPair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }
