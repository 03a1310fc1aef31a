package wire

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
)

// SocketVariable is the environment variable that tells a plugin which of its
// descriptors is a stream's socket, such as "3". Absent: none is.
const SocketVariable = "TOOLHOST_STREAM_FD"

// socket is a carrier on a connected stream socket.
type socket struct {
	net.Conn
	pieces net.Buffers // Send's
}

// NewSocket makes a carrier of a connection, such as one end of a socket pair.
func NewSocket(c net.Conn) Carrier { return &socket{Conn: c} }

// Send implements [Carrier].
func (s *socket) Send(head []byte, body [][]byte) error {
	if len(body) == 0 {
		_, err := s.Write(head)
		return err
	}
	s.pieces = append(append(s.pieces[:0], head), body...)
	pieces := s.pieces // WriteTo eats it
	_, err := pieces.WriteTo(s.Conn)
	clear(s.pieces)
	return err
}

var inherit sync.Once

// Inherited is the socket that the host gave this process, and nil where it gave
// none. Only the first call in a process gets it: afterwards the variable is
// gone, and what the process starts inherits neither.
func Inherited() (c Carrier, err error) {
	inherit.Do(func() {
		value, ok := os.LookupEnv(SocketVariable)
		if !ok {
			return
		}
		_ = os.Unsetenv(SocketVariable)
		var fd int
		if fd, err = strconv.Atoi(value); err != nil || fd < 3 {
			err = fmt.Errorf("%s=%q is no descriptor", SocketVariable, value)
			return
		}
		f := os.NewFile(uintptr(fd), "toolhost-stream")
		conn, connErr := net.FileConn(f) // a duplicate, closed on exec
		_ = f.Close()
		if connErr != nil {
			err = fmt.Errorf("%s=%q is no socket: %w", SocketVariable, value, connErr)
			return
		}
		c = NewSocket(conn)
	})
	return c, err
}
