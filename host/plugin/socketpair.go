package plugin

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// socketPair makes a connected pair of sockets: the host's end, and the one that
// a process inherits. Neither is inherited by accident.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
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

// readNow reads what has come on a socket already, and waits for nothing.
func readNow(conn net.Conn, b []byte) (n int) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Read(func(fd uintptr) bool { // which does not block
		n, _ = syscall.Read(int(fd), b)
		return true
	})
	return max(n, 0)
}
