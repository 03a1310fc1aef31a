// Package tree removes directories that toolhost made. Begin with [Remove].
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// batch is how many entries are looked at before the next ones are read, so that a
	// directory that grows meanwhile does not hold up the look at the context.
	batch = 256
	// maxDepth bounds how many directories are open at a time.
	maxDepth = 100
)

// Remove removes a directory with everything in it, until its context ends; files may be
// added meanwhile. It goes by open handles and follows no link; directories that were made
// unreadable or unwritable are removed too. Made is what [os.Lstat] returned when the
// directory was found to be toolhost's: another one that has its path by now stays. A
// directory that is gone is not an error.
func Remove(ctx context.Context, path string, made fs.FileInfo) error {
	above, err := os.OpenRoot(filepath.Dir(path))
	if err == nil {
		err = errors.Join(remove(ctx, above, filepath.Base(path), made, maxDepth), above.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cannot be removed: %w", path, err)
	}
	return nil
}

func remove(ctx context.Context, above *os.Root, name string, made fs.FileInfo, depth int) error {
	if depth == 0 {
		return fmt.Errorf("it has more than %d directories one in the other", maxDepth)
	}
	dir, err := above.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && above.Chmod(name, 0o700) == nil {
		dir, err = above.OpenRoot(name)
	}
	if err != nil {
		return err
	}
	now, err := dir.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(now, made):
		err = errors.New("it is another directory now")
	case now.Mode().Perm()&0o700 != 0o700:
		err = dir.Chmod(".", 0o700)
	}
	for more := true; more && err == nil; {
		more, err = removeSome(ctx, dir, depth)
	}
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	return above.Remove(name)
}

// removeSome removes some of what is in a directory, and reports whether there was any.
func removeSome(ctx context.Context, dir *os.Root, depth int) (bool, error) {
	f, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if gone := removeEntry(ctx, dir, e.Name(), depth); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return false, gone
		}
	}
	return len(entries) > 0, err
}

func removeEntry(ctx context.Context, dir *os.Root, name string, depth int) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	err = dir.Remove(name)
	if err != nil && info.IsDir() { // it has something in it: an empty one takes no descriptor to remove
		return remove(ctx, dir, name, info, depth-1)
	}
	return err
}
