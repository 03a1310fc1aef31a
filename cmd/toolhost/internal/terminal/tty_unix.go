//go:build unix

package terminal

import (
	"errors"
	"os"
)

// Open opens the terminal of this process, wherever its standard streams lead.
func Open() (Terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return tty{f}, nil
}

type tty struct{ *os.File }

// Discard implements [Terminal].
func (t tty) Discard() error {
	raw, err := t.SyscallConn() // with Fd, Close would not end a read
	if err != nil {
		return err
	}
	var flushed error
	err = raw.Control(func(fd uintptr) { flushed = flushInput(int(fd)) })
	return errors.Join(err, flushed)
}
