package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// MaxChange is the size of the largest file that is changed or compared, in
// bytes. It is in memory, twice over.
const MaxChange = 32 << 20

// ErrChanged says that a file was changed by others while a call worked on it.
var ErrChanged = errors.New("the file changed meanwhile")

// attempts are how often a change is worked out again because the file became
// another.
const attempts = 3

// Change puts a file in place, as [Workspace.Write] does, whose new content is
// made of the old by f; exists is false where there is none. An error of f ends
// it, and nothing is changed.
//
// What others write in the meantime is not lost: before the new file takes its
// place, the old one is compared with what f was given, and f is asked again
// where it differs. A new file never replaces one that appeared. Changes of one
// Workspace come one after the other. A process that puts its own file in place
// in the instant between the comparison and the rename is not seen.
//
// # Errors
//
// [ErrChanged] where the file is another each time; a plain error for a file
// larger than [MaxChange].
func (w *Workspace) Change(ctx context.Context, given string, f func(old []byte, exists bool) ([]byte, error)) (Written, error) {
	name, err := cleanFile(given)
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
	return Written{}, complain(err, "%s is changed by others again and again; nothing was written (try later)", show(given))
}

func (w *Workspace) change(ctx context.Context, given, name string, f func([]byte, bool) ([]byte, error)) (Written, error) {
	now, err := w.Now(ctx, given)
	if err != nil {
		return Written{}, err
	}
	if err := now.Changeable(given); err != nil {
		return Written{}, err
	}
	// Before any directory is made, as f may refuse.
	content, err := f(now.Content, now.Exists)
	if err != nil {
		return Written{}, err
	}
	return w.replace(ctx, given, name, bytes.NewReader(content), func(r *replacement, temp string) error {
		return r.putIfStill(ctx, temp, now)
	})
}

// putIfStill puts the complete file in place if what it replaces is as it was.
func (r *replacement) putIfStill(ctx context.Context, temp string, was Now) error {
	if r.created == was.Exists {
		return ErrChanged
	}
	if r.created {
		return r.putNew(temp)
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

// putNew takes a name that nobody has: unlike a rename, a link replaces nothing.
func (r *replacement) putNew(temp string) error {
	err := r.dir.Link(temp, r.name)
	switch {
	case err == nil:
		_ = r.dir.Remove(temp) // the file is in place; its other name can stay
		return nil
	case errors.Is(err, fs.ErrExist):
		return ErrChanged
	}
	// Not all file systems have links.
	if _, err := r.dir.Lstat(r.name); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrChanged, err)
	}
	return r.dir.Rename(temp, r.name)
}

// readAll reads a regular file of at most [MaxChange] bytes, and one more.
func readAll(ctx context.Context, dir *os.Root, name string) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || kindOf(info.Mode()) != File {
		return nil, errors.Join(ErrChanged, err)
	}
	return io.ReadAll(Reader(ctx, io.LimitReader(f, MaxChange+1)))
}
