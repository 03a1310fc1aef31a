package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFile makes what was written durable, and of the file's metadata only what is needed to
// find it.
func syncFile(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// renameNew gives a file another name, and never one that is taken.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // an older kernel or a file system without it
		return renameUnlessTaken(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
