package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
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
func (t tty) Discard() error { return t.control(flushInput) }

// Foreground implements [Terminal].
func (t tty) Foreground() bool {
	return t.control(func(fd int) error {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err == nil && group != unix.Getpgrp() {
			err = unix.ENOTTY
		}
		return err
	}) == nil
}

// control runs f on the descriptor. With Fd, Close would not end a read.
func (t tty) control(f func(fd int) error) error {
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}
