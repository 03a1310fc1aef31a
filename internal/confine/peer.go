//go:build linux || darwin

package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Peer asks the kernel which process of which user is at the other end of a connection of a Unix socket: the one that
// connected to a listener, or that began to listen. The process is 0 if the system does not say, or cannot see it.
func Peer(conn net.Conn) (uid, pid int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, 0, fmt.Errorf("%T is not a connection of a Unix socket", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var asked error
	err = raw.Control(func(fd uintptr) { uid, pid, asked = credentials(int(fd)) })
	return uid, pid, errors.Join(err, os.NewSyscallError("getsockopt", asked))
}
