package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFile puts what was written on disk, and of the file's metadata only what
// is needed to find it.
func syncFile(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
