package wire

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
)

// The environment variables that tell a plugin which of its file descriptors, such as
// "3", is one end of a socket pair. A variable is absent if there is no such pair.
const (
	SocketVariable = "TOOLHOST_STREAM_FD" // for a stream's frames
	GRPCVariable   = "TOOLHOST_GRPC_FD"   // for gRPC, instead of a socket with a path
)

var inheriting sync.Mutex

// Inherited returns the socket for a stream's frames that this process inherited from
// the host, or nil if it inherited none. Only the first call in a process returns the
// socket: Inherited unsets the variable, and child processes inherit neither the
// variable nor the socket.
func Inherited() (Carrier, error) {
	conn, err := inherited(SocketVariable)
	if conn == nil {
		return nil, err
	}
	return NewSocket(conn), nil
}

// InheritedGRPC returns the connection for gRPC that this process inherited from the
// host, or nil if it inherited none, as with older hosts. As with [Inherited], only
// the first call in a process returns the connection.
func InheritedGRPC() (*GRPCConn, error) {
	conn, err := inherited(GRPCVariable)
	if conn == nil {
		return nil, err
	}
	return newGRPCConn(conn), nil
}

// inherited returns the socket whose file descriptor a variable names, or nil if the
// variable is not set.
func inherited(variable string) (net.Conn, error) {
	inheriting.Lock()
	value, ok := os.LookupEnv(variable)
	_ = os.Unsetenv(variable)
	inheriting.Unlock()
	if !ok {
		return nil, nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%s=%q is not a descriptor", variable, value)
	}
	f := os.NewFile(uintptr(fd), variable)
	conn, err := net.FileConn(f) // a duplicate, closed on exec
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("%s=%q is not a socket: %w", variable, value, err)
	}
	return conn, nil
}
