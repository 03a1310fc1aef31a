package mcpbridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// lines is a stream of messages, a line each, without lines that are not one. The SDK ends a
// connection at the first.
type lines struct {
	in io.ReadCloser
	// message reports whether a line, which is not blank, is one. An error ends the stream.
	message func(line []byte) (bool, error)

	buf    []byte // read and not returned
	ready  int    // the first bytes of buf that are a whole message, with its newline
	err    error
	failed atomic.Bool // whether there is nothing more to read
}

var errLongLine = fmt.Errorf("it sent a message of more than %d MiB", maxFrame>>20)

// Read implements [io.Reader]. It returns bytes of whole messages only.
func (l *lines) Read(p []byte) (int, error) {
	for l.ready == 0 {
		if l.err != nil {
			l.failed.Store(true)
			return 0, l.err
		}
		l.fill()
	}
	n := copy(p, l.buf[:l.ready])
	l.buf, l.ready = l.buf[n:], l.ready-n
	return n, nil
}

const readSize = 64 << 10

// fill reads until there is a line, and drops it if it is not a message.
func (l *lines) fill() {
	searched := 0
	for {
		i := bytes.IndexByte(l.buf[searched:], '\n')
		end := searched + i
		if i < 0 {
			end = len(l.buf)
		}
		switch {
		case end > maxFrame:
			l.buf, l.err = nil, errLongLine
			return
		case i >= 0:
			l.line(end + 1)
			return
		}
		searched = end
		if cap(l.buf)-searched < readSize/2 {
			l.buf = append(make([]byte, 0, max(readSize, 2*searched)), l.buf...)
		}
		n, err := l.in.Read(l.buf[searched:cap(l.buf)])
		l.buf = l.buf[:searched+n]
		switch {
		case errors.Is(err, io.EOF) && n == 0 && searched > 0: // the last line may have no newline
			l.buf = append(l.buf, '\n')
		case err != nil && n == 0:
			l.buf, l.err = nil, err
			return
		}
	}
}

func (l *lines) line(end int) {
	if line := bytes.TrimSpace(l.buf[:end]); len(line) > 0 {
		ok, err := l.message(line)
		if err != nil {
			l.buf, l.err = nil, err
			return
		}
		if ok {
			if pad := end - 1 - len(bytes.TrimRight(l.buf[:end], " \t\r\n")); pad > 0 {
				// The SDK wants the newline right behind the message.
				copy(l.buf[end-1-pad:], l.buf[end-1:])
				l.buf, end = l.buf[:len(l.buf)-pad], end-pad
			}
			l.ready = end
			return
		}
	}
	l.buf = l.buf[end:]
}

// Close implements [io.Closer].
func (l *lines) Close() error {
	if err := l.in.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}
