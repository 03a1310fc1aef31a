package wire

import "net"

// socket is a carrier on a connected stream socket.
type socket struct {
	net.Conn
	pieces net.Buffers // reused by Send
}

// NewSocket returns a carrier on a connection, such as one end of a socket pair.
func NewSocket(c net.Conn) Carrier { return &socket{Conn: c} }

// Send implements [Carrier].
func (s *socket) Send(head []byte, body [][]byte) error {
	if len(body) == 0 {
		_, err := s.Write(head)
		return err
	}
	s.pieces = append(append(s.pieces[:0], head), body...)
	pieces := s.pieces // WriteTo consumes it
	_, err := pieces.WriteTo(s.Conn)
	clear(s.pieces)
	return err
}
