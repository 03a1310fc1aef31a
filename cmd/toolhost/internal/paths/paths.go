// Package paths answers questions about files that need not exist. Begin with [Canonical].
package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Canonical returns the absolute path of a file with all links resolved. The file need not
// exist.
func Canonical(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return resolved, err
	}
	parent, err := Canonical(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// Exists reports whether anything has that path, including a link that leads nowhere.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
