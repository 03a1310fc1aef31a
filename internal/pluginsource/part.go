package pluginsource

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Part ends the names of files that are being fetched.
const Part = ".part"

// save makes a file of a directory, has write write it, and syncs it. If that fails, the file is
// removed. Whoever does so has the lock of the directory.
func save(dir *os.Root, name string, write func(*os.File) error) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|safefile.NoFollow, 0o600)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = dir.Remove(name)
	}
	return err
}

// Sweep removes files that a command which was killed did not fetch whole.
//
// # Errors
//
// Those of the directory.
func Sweep(dir *os.Root) error {
	at, err := dir.Open(".")
	if err != nil {
		return err
	}
	entries, err := at.ReadDir(-1)
	err = errors.Join(err, at.Close())
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), Part) {
			continue
		}
		if bad := dir.Remove(e.Name()); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}
