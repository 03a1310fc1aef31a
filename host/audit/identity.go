package audit

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// identity is which file a path or handle leads to. [os.FileInfo] would do too, but is
// allocated, and each line needs two.
type identity struct{ dev, ino uint64 }

func (a identity) same(b identity) bool { return a == b }

// identify returns the identity and size of the file, or link, at a path.
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

// condition is what an open file says of itself.
type condition struct {
	id   identity
	size int64
	// named says that it still has a name: it has none if it was removed or replaced.
	named bool
}

func conditionOf(f *os.File) (condition, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return condition{identity{uint64(st.Dev), st.Ino}, st.Size, st.Nlink > 0}, err //nolint:unconvert // as above
}
