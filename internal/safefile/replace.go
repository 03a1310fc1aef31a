package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Replace puts a file with this content and mode at path, in one step, in place of the
// file that may be there: readers of path, and a power cut, find either the old file or
// the new one, whole. The directory must exist. A symbolic link at path is replaced, not
// followed.
//
// # Errors
//
// Those of the system; [IsFull] reports whether the disk is full. The old file is as it was.
func Replace(path string, content []byte, mode fs.FileMode) error {
	return put(path, content, mode, os.Rename)
}

// ReplaceIf is [Replace], but calls check when all is ready, and replaces nothing if that returns an error: another
// program that writes the file has next to no time left in between.
//
// # Errors
//
// That of check; those of [Replace].
func ReplaceIf(path string, content []byte, mode fs.FileMode, check func() error) error {
	return put(path, content, mode, func(from, to string) error {
		if err := check(); err != nil {
			return err
		}
		return os.Rename(from, to)
	})
}

// Create is [Replace], but leaves a file that is there alone.
//
// # Errors
//
// [fs.ErrExist] if path exists; those of [Replace].
func Create(path string, content []byte, mode fs.FileMode) error {
	return put(path, content, mode, func(from, to string) error {
		if err := os.Link(from, to); err != nil { // a rename would replace the file
			return err
		}
		return os.Remove(from)
	})
}

func put(path string, content []byte, mode fs.FileMode, move func(from, to string) error) error {
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
		err = move(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// IsFull reports whether writing failed for lack of space: the disk, or the user's quota
// of it, is full.
func IsFull(err error) bool {
	return slices.ContainsFunc(fullErrors, func(full error) bool { return errors.Is(err, full) })
}

// DescriptorHint says what to do about an error for lack of descriptors; empty: it is another one.
func DescriptorHint(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit on open files of the host: ulimit -n, or LimitNOFILE= in its unit"
	case errors.Is(err, syscall.ENFILE):
		return "raise the system's limit on open files (sysctl fs.file-max), or end what holds them"
	}
	return ""
}
