package wire

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
)

// The environment variables that tell a plugin which of its descriptors is one end of
// a socket pair, such as "3". Absent: none is.
const (
	SocketVariable = "TOOLHOST_STREAM_FD" // for a stream's frames
	GRPCVariable   = "TOOLHOST_GRPC_FD"   // for gRPC, in place of a socket that has a path
)

var inheriting sync.Mutex

// Inherited is the socket for a stream's frames that the host gave this process, and
// nil where it gave none. Only the first call in a process gets it: afterwards the
// variable is gone, and what the process starts inherits neither.
func Inherited() (Carrier, error) {
	conn, err := inherited(SocketVariable)
	if conn == nil {
		return nil, err
	}
	return NewSocket(conn), nil
}

// InheritedGRPC is the connection for gRPC that the host gave this process, and nil
// where it gave none, as older hosts do. Only the first call in a process gets it, as
// with [Inherited].
func InheritedGRPC() (*GRPCConn, error) {
	conn, err := inherited(GRPCVariable)
	if conn == nil {
		return nil, err
	}
	return newGRPCConn(conn), nil
}

// inherited is the socket whose descriptor a variable names; nil: there is none.
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
