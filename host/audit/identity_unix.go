//go:build unix

package audit

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// identity is which file something is. [os.FileInfo] would do too, but each line
// asks for two, and these are not allocated.
type identity struct{ dev, ino uint64 }

func (a identity) same(b identity) bool { return a == b }

// identify is the file at a path, or the link, and its size.
func identify(path string) (id identity, size int64, err error) {
	for {
		var st unix.Stat_t
		err := unix.Lstat(path, &st)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return identity{}, 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
		default:
			return identity{uint64(st.Dev), st.Ino}, st.Size, nil //nolint:unconvert // other systems have other types
		}
	}
}

// isNamed reports whether an open file has a name still: one that was removed, or in
// whose place another was put, has none. A look at the path would cost as much again as
// all else about the lock.
func isNamed(f *os.File, _ string) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return st.Nlink > 0, err
}

// identityOf is that of an open file.
func identityOf(f *os.File) (identity, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return identity{uint64(st.Dev), st.Ino}, err //nolint:unconvert // as above
}
