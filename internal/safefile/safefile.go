// Package safefile opens, replaces and locks files in directories where other users
// or processes may be busy. Begin with [Open], [Replace] and [Lock].
package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// leaseGrace is how long a file is waited for on which another process has a lease (F_SETLEASE): an
// honest one, such as a file server, gives it up sooner, and the kernel waits 45 s.
const leaseGrace = 2 * time.Second

// Open opens a regular file and nothing else: it does not follow a symbolic link, which
// could lead to a file of another user, and does not wait for the other end of a FIFO.
// With [os.O_CREATE] a new file gets mode 0600.
//
// # Errors
//
// Those of the system, and that of [Regular]. If another process keeps a lease on the file, the error
// comes after 2 s and names that process.
func Open(path string, flag int) (*os.File, fs.FileInfo, error) {
	return open(path, os.Lstat, func() (*os.File, error) { return openNoFollow(path, flag) })
}

// OpenTarget is [Open] for reading, but follows symbolic links.
func OpenTarget(path string) (*os.File, fs.FileInfo, error) {
	return open(path, os.Stat, func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
}

func open(path string, stat func(string) (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, fs.FileInfo, error) {
	// Check before opening: opening some devices has an effect.
	if info, err := stat(path); err == nil {
		if err := Regular(info); err != nil {
			return nil, nil, err
		}
	}
	f, err := open()
	for until := time.Now().Add(leaseGrace); errors.Is(err, syscall.EAGAIN) && time.Now().Before(until); {
		time.Sleep(longestPause)
		f, err = open()
	}
	if errors.Is(err, syscall.EAGAIN) {
		if info, statErr := stat(path); statErr == nil {
			err = fmt.Errorf("%w: %s keeps a lease on it; end that process", err, holderOf(info))
		}
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = Regular(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Regular returns an error that says what a file is, unless it is a regular file.
func Regular(info fs.FileInfo) error {
	mode := info.Mode()
	what := "not a regular file"
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeSymlink != 0:
		return errSymlink
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return errors.New("it is " + what)
}

var errSymlink = errors.New("it is a symbolic link")

// IsSame reports whether two looks at a path found the same file, which was not written between
// them, as far as that shows. Nil: there was none.
func IsSame(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// IsAt reports whether path still names the open file f, and not another file or none.
func IsAt(path string, f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, there), err
}
