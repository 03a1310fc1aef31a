package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// MaxChange is the size of the largest file that is changed or compared, in bytes. Such
// a file is in memory twice.
const MaxChange = 32 << 20

// ErrChanged is the error for a file that others changed during a call.
var ErrChanged = errors.New("the file changed meanwhile")

// attempts bounds how often a change is computed again because the file has changed.
const attempts = 3

// Change writes a file, as [Workspace.Write] does, with the content that f makes of the
// old; exists is false if there is no old file. If f fails, nothing is changed.
//
// Changes by others are not lost: before the new file replaces the old one, the old one
// is compared with what f was given, and f is called again if it differs. A new file
// never replaces one that has appeared. Changes of one Workspace are made one after the
// other, and in one directory, those of all processes that use this package, if none holds it for long. Another
// program that replaces the file in the instant between the comparison and the rename is not noticed.
//
// # Errors
//
// [ErrChanged] if the file has changed at each attempt; a plain error for a file larger
// than [MaxChange].
func (w *Workspace) Change(
	ctx context.Context, given string, f func(old []byte, exists bool) ([]byte, error),
) (Written, error) {
	name, err := cleanFilePath(given)
	if err != nil {
		return Written{}, err
	}
	select {
	case w.changing <- struct{}{}:
		defer func() { <-w.changing }()
	case <-ctx.Done():
		return Written{}, ctx.Err()
	}
	for range attempts {
		var done Written
		done, err = w.change(ctx, given, name, f)
		if !errors.Is(err, ErrChanged) {
			return done, err
		}
	}
	return Written{}, newFault(err, "%s keeps being changed by others; nothing was written (try later)", Show(given))
}

func (w *Workspace) change(
	ctx context.Context, given, name string, f func([]byte, bool) ([]byte, error),
) (Written, error) {
	if dir, err := w.openDir(path.Dir(name)); err == nil { // one that is yet to be made has nothing that could be lost
		defer lock(ctx, dir)()
		_ = dir.Close() // it was only read
	}
	now, err := w.Snapshot(ctx, given)
	if err != nil {
		return Written{}, err
	}
	if err := now.Changeable(given); err != nil {
		return Written{}, err
	}
	// Before any directory is made, because f may refuse.
	content, err := f(now.Content, now.Exists)
	if err != nil {
		return Written{}, err
	}
	return w.replace(ctx, given, name, bytes.NewReader(content), func(r *replacement, temp string) error {
		w.commitMu.Lock()
		defer w.commitMu.Unlock()
		return r.commitIfUnchanged(ctx, temp, now)
	})
}

// commitIfUnchanged puts the complete file in place if the old one is as it was.
func (r *replacement) commitIfUnchanged(ctx context.Context, temp string, was Snapshot) error {
	if r.created == was.Exists {
		return ErrChanged
	}
	if r.created {
		return r.commitNew(temp)
	}
	info, err := r.dir.Lstat(r.name)
	if err != nil || kindOf(info.Mode()) != File || info.Size() != was.Size || info.Mode().Perm() != r.mode {
		return errors.Join(ErrChanged, err)
	}
	content, err := readAll(ctx, r.dir, r.name)
	if err != nil {
		return err
	}
	if !bytes.Equal(content, was.Content) {
		return ErrChanged
	}
	return r.dir.Rename(temp, r.name)
}

// commitNew puts a file in place under a new name. Unlike a rename, a link never replaces
// a file.
func (r *replacement) commitNew(temp string) error {
	err := r.dir.Link(temp, r.name)
	switch {
	case err == nil:
		_ = r.dir.Remove(temp) // the file is in place; its other name can stay
		return nil
	case errors.Is(err, fs.ErrExist):
		return ErrChanged
	}
	// Not every file system has links.
	if _, err := r.dir.Lstat(r.name); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrChanged, err)
	}
	return r.dir.Rename(temp, r.name)
}

// readAll reads a regular file of at most [MaxChange] bytes, and one more.
func readAll(ctx context.Context, dir *os.Root, name string) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || kindOf(info.Mode()) != File {
		return nil, errors.Join(ErrChanged, err)
	}
	return io.ReadAll(Reader(ctx, io.LimitReader(f, MaxChange+1)))
}
