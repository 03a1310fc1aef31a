package roster

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// beingWritten reports whether some process has the file open for writing, as far as
// that can be known: the kernel gives no read lease then (fcntl(2), F_SETLEASE).
func beingWritten(path string) bool {
	if path == "" {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
