package pluginsource

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Part ends the names of files that are being fetched.
const Part = ".part"

// keepParts is how long a file that was not fetched whole is kept.
const keepParts = 7 * 24 * time.Hour

// openPart opens a file that is being fetched. Whoever does so has the lock of the directory.
func openPart(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|safefile.NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = safefile.Regular(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// keep returns how much of a file can be gone on with, after telling h of that. It empties a file that
// is too long.
func keep(f *os.File, h io.Writer, size int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() > size {
		if err := f.Truncate(0); err != nil {
			return 0, err
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(h, f)
}

// Sweep removes files that were not fetched whole, and that were not gone on with for a week.
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
		info, bad := e.Info()
		if bad != nil || !strings.HasSuffix(e.Name(), Part) || time.Since(info.ModTime()) < keepParts {
			continue
		}
		if bad := dir.Remove(e.Name()); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}
