//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// fullErrors are what writing fails with where there is no more space.
var fullErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // a file system that has no such thing
	}
	return errors.Join(err, d.Close())
}
