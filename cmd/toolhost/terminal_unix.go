//go:build unix

package main

import (
	"errors"
	"os"
)

// openTerminal opens the terminal that this process belongs to, wherever its
// standard streams lead.
func openTerminal() (terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return tty{f}, nil
}

type tty struct{ *os.File }

// discard forgets what was typed and not read.
func (t tty) discard() error {
	raw, err := t.SyscallConn() // Fd would make reading block beyond Close
	if err != nil {
		return err
	}
	var flushed error
	err = raw.Control(func(fd uintptr) { flushed = flushInput(int(fd)) })
	return errors.Join(err, flushed)
}
