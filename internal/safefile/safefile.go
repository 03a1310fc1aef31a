// Package safefile puts files in place whole. Begin with [Replace].
package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts a file with this content and mode at path, in one step, over the
// one that may be there: whoever reads path meanwhile, or after a power cut, finds
// either the old file or the new one, whole. The directory must exist. A symbolic
// link at path is replaced, not followed.
//
// # Errors
//
// Those of the system; [IsFull] tells a full disk apart. The old file is as it was.
func Replace(path string, content []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// IsFull reports whether writing failed because there is no space: the disk, or
// what this user may use of it, is full.
func IsFull(err error) bool {
	for _, full := range fullErrors {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}
