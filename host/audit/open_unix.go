//go:build unix

package audit

import (
	"errors"
	"os"
	"syscall"
)

// fullErrors are what writing fails with where there is no more space.
var fullErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// openFile opens no symbolic link and waits for no FIFO's other end.
func openFile(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// isLink reports whether openFile failed for a symbolic link.
func isLink(err error) bool {
	return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) // FreeBSD
}

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that has no such thing
	}
	return err
}
