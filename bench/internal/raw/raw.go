// Package raw is a call with nothing around it: one length, one message, each way,
// over a Unix socket that belongs to one caller. It checks nothing and multiplexes
// nothing, and is the limit that a carrier can be compared with.
package raw

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"unsafe"

	"github.com/toolhost/toolhost/bench/internal/work"
)

// head is a length, which comes before everything.
const head = 4

// Caller is one caller's connection. It is not safe for concurrent use.
type Caller struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// Dial connects a caller until ctx ends, and with it the call under way.
func Dial(ctx context.Context, socket string) (*Caller, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &Caller{conn: conn, in: bufio.NewReader(conn)}, nil
}

// Call runs a tool.
func (c *Caller) Call(_ context.Context, tool string, arguments []byte) (string, error) {
	// One message: length, length of the name, name, arguments.
	c.out = binary.BigEndian.AppendUint32(c.out[:0], uint32(1+len(tool)+len(arguments)))
	c.out = append(c.out, byte(len(tool)))
	c.out = append(c.out, tool...)
	c.out = append(c.out, arguments...)
	if _, err := c.conn.Write(c.out); err != nil {
		return "", err
	}
	answer, err := read(c.in, nil)
	if err != nil {
		return "", err
	}
	// The bytes are not shared, and copying 8 MiB would not be the limit.
	return unsafe.String(unsafe.SliceData(answer), len(answer)), nil
}

// Serve answers the callers of a listener until it is closed.
func Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close() //nolint:errcheck // the caller is gone
			_ = answer(conn)
		}()
	}
}

func answer(conn net.Conn) error {
	in := bufio.NewReader(conn)
	var room, out []byte
	for {
		var err error
		if room, err = read(in, room); err != nil {
			return err
		}
		name := int(room[0])
		text, err := work.Handle(string(room[1:1+name]), room[1+name:])
		if err != nil {
			return err // there is no way to say so, and no need
		}
		out = binary.BigEndian.AppendUint32(out[:0], uint32(len(text)))
		if len(text) <= work.Medium {
			out = append(out, text...)
			_, err = conn.Write(out)
		} else {
			both := net.Buffers{out, unsafe.Slice(unsafe.StringData(text), len(text))}
			_, err = both.WriteTo(conn)
		}
		if err != nil {
			return err
		}
	}
}

// read gives one message, in room where it fits.
func read(in *bufio.Reader, room []byte) ([]byte, error) {
	var length [head]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n < 1 || n > work.Large {
		return nil, fmt.Errorf("a message of %d bytes", n)
	}
	if cap(room) < n {
		room = make([]byte, n)
	}
	_, err := io.ReadFull(in, room[:n])
	return room[:n], err
}
