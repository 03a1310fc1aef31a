package mcpbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// lines is the standard output of a server without what is not a message. Many servers, and
// what they import, print lines of text there.
type lines struct {
	in    io.ReadCloser
	stray func(line string)

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
		if i := bytes.IndexByte(l.buf[searched:], '\n'); i >= 0 {
			l.line(searched + i + 1)
			return
		}
		searched = len(l.buf)
		if searched > maxFrame {
			l.buf, l.err = nil, errLongLine
			return
		}
		if cap(l.buf)-searched < readSize/2 {
			l.buf = append(make([]byte, 0, max(readSize, 2*searched)), l.buf...)
		}
		n, err := l.in.Read(l.buf[searched:cap(l.buf)])
		l.buf = l.buf[:searched+n]
		if err != nil && n == 0 {
			l.buf, l.err = nil, err // half a message is none
			return
		}
	}
}

func (l *lines) line(end int) {
	line := bytes.TrimSpace(l.buf[:end])
	if len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line) {
		if pad := end - 1 - len(bytes.TrimRight(l.buf[:end], " \t\r\n")); pad > 0 {
			// The SDK wants the newline right behind the message.
			copy(l.buf[end-1-pad:], l.buf[end-1:])
			l.buf, end = l.buf[:len(l.buf)-pad], end-pad
		}
		l.ready = end
		return
	}
	if len(line) > 0 {
		l.stray(sanitize.Line(string(line[:min(len(line), maxStray)]), maxStray))
	}
	l.buf = l.buf[end:]
}

// maxStray bounds what is kept of a line that is not a message, in bytes.
const maxStray = 200

// Close implements [io.Closer].
func (l *lines) Close() error {
	if err := l.in.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}
