//go:build !unix

package verify

import (
	"errors"
	"net"
	"os"
)

func socketPair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

const unixSockets = false
