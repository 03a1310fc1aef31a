//go:build !linux

package sealed

import (
	"context"
	"errors"
	"os"
)

func memoryFile(string) (*os.File, error) {
	return nil, errors.New("this system has no memory files that run")
}

func seal(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

// awaitWriters has nothing to wait for: here a file that is open for writing can be run, or
// was closed by all.
func awaitWriters(context.Context, string) error { return nil }

func descriptorPath(f *os.File) string { return f.Name() }
