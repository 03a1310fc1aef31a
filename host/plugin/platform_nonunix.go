//go:build !unix

package plugin

import (
	"errors"
	"net"
	"os"
	"os/exec"
)

// socketPair is not available here; the stream takes its place.
func socketPair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

// readNow has nothing to read from.
func readNow(net.Conn, []byte) int { return 0 }

// closeOthers is not needed: a process inherits only what is named.
func closeOthers(*exec.Cmd) {}
