//go:build !unix

package audit

import (
	"os"

	"github.com/toolhost/toolhost/internal/safefile"
)

// identity is which file a path or handle leads to.
type identity struct{ info os.FileInfo }

func (a identity) same(b identity) bool { return os.SameFile(a.info, b.info) }

// identify returns the identity and size of the file, or link, at a path.
func identify(path string) (id identity, size int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return identity{}, 0, err
	}
	return identity{info}, info.Size(), nil
}

// isNamed reports whether the path still leads to an open file.
func isNamed(f *os.File, path string) (bool, error) { return safefile.IsAt(path, f) }

// identityOf returns the identity of an open file.
func identityOf(f *os.File) (identity, error) {
	info, err := f.Stat()
	return identity{info}, err
}
