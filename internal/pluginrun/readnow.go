package pluginrun

import (
	"net"
	"syscall"
)

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
