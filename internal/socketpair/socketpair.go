// Package socketpair makes the pairs of sockets on which a host and a plugin's process talk.
package socketpair

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// New makes a connected pair of Unix sockets: the host's end, and the one that a process inherits. Neither is
// inherited by accident.
//
// # Errors
//
// Those of the kernel, as when there are no descriptors left.
func New() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	// What the kernel holds is what a small frame waits behind, so it is to hold little:
	// a chunk. (Linux doubles the number, for its own part of each piece.)
	_ = syscall.SetsockoptInt(fds[1], syscall.SOL_SOCKET, syscall.SO_SNDBUF, 64<<10)
	host, theirs := os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "plugin")
	ours, err = net.FileConn(host)
	if err = errors.Join(err, host.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}
