package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Modes of what a write makes, before the umask.
const (
	newFileMode fs.FileMode = 0o644
	newDirMode  fs.FileMode = 0o755
)

// tempPrefix and tempSuffix are around the random name of a file that is not
// complete. One that is left behind, by a machine that stopped in the middle,
// can be deleted.
const (
	tempPrefix = ".toolhost-"
	tempSuffix = ".tmp"
)

// Written is what a write did.
type Written struct {
	Path    string // as [Clean] has it
	Bytes   int64
	Created bool // there was no file before
}

// Write puts a file in place in one step: readers see the old content or the
// new, whole, and so does whoever looks after a crash. On an error the old file
// is as it was. Missing directories are made (0755 before the umask), and stay
// where the write fails.
//
// An existing file keeps its permission bits, and neither its owner nor its
// hard links; a new one has 0644 before the umask. A directory, a symbolic link, a
// special file and a file that nobody may write are refused.
func (w *Workspace) Write(ctx context.Context, given string, content io.Reader) (Written, error) {
	name, err := cleanFile(given)
	if err != nil {
		return Written{}, err
	}
	return w.replace(ctx, given, name, content, func(r *replacement, temp string) error { return r.dir.Rename(temp, r.name) })
}

// replace writes the content beside a file and lets put have it take the file's place,
// one at a time.
func (w *Workspace) replace(ctx context.Context, given, name string, content io.Reader, put func(r *replacement, temp string) error) (Written, error) {
	if err := w.mayWrite(given, name, nil); err != nil { // before any directory is made
		return Written{}, err
	}
	dir, err := w.makeDir(path.Dir(name))
	if err != nil {
		return Written{}, w.Explain(given, err)
	}
	defer func() { _ = dir.Close() }()
	if err := w.mayWrite(given, name, dir); err != nil {
		return Written{}, err
	}
	r := replacement{dir: dir, name: path.Base(name)}
	if err := w.inspect(given, name, &r); err != nil {
		return Written{}, err
	}
	r.commit = func(temp string) error {
		w.putting.Lock()
		defer w.putting.Unlock()
		return put(&r, temp)
	}
	n, err := r.write(ctx, content)
	if err != nil {
		return Written{}, w.Explain(given, err)
	}
	return Written{Path: name, Bytes: n, Created: r.created}, nil
}

// cleanFile is [Clean] for what is to be a file.
func cleanFile(given string) (string, error) {
	name, err := Clean(given)
	if err == nil && namesDir(given) {
		err = demand(File, given, fs.ModeDir)
	}
	return name, err
}

// namesDir reports whether a path can only be that of a directory.
func namesDir(given string) bool {
	last := given[strings.LastIndexByte(given, '/')+1:]
	return last == "" || last == "." || last == ".."
}

func (w *Workspace) makeDir(name string) (*os.Root, error) {
	if name != "." {
		err := w.root.MkdirAll(name, newDirMode)
		// What exists and is no directory is described better by opening it.
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return w.openDir(name)
}

// replacement is a file that takes a name in a directory. All its steps go by
// the one handle of the directory, so that no swap of its path divides them.
type replacement struct {
	dir     *os.Root
	name    string
	created bool
	mode    fs.FileMode
	// commit puts the complete file in place.
	commit func(temp string) error
}

// inspect fills in what is to be replaced, and refuses what must not be.
func (w *Workspace) inspect(given, name string, r *replacement) error {
	info, err := r.dir.Lstat(r.name)
	if errors.Is(err, fs.ErrNotExist) {
		r.created, r.mode = true, newFileMode
		return nil
	}
	if err != nil {
		return w.Explain(given, err)
	}
	if kindOf(info.Mode()) == Symlink {
		return w.refuseLink(given, name)
	}
	if err := demand(File, given, info.Mode()); err != nil {
		return err
	}
	// A rename asks only the directory, so a file's own protection has to be
	// respected here.
	if r.mode = info.Mode().Perm(); r.mode&0o222 == 0 {
		return complain(fs.ErrPermission, "%s is read-only, mode %04o (make it writable first, or choose another path)", show(given), r.mode)
	}
	return nil
}

// refuseLink does not resolve the link: a rename would replace it, and what it
// leads to may change before the new content is there.
func (w *Workspace) refuseLink(given, name string) error {
	if _, err := w.root.Stat(name); errors.Is(err, w.escape) {
		return escape(given, hintLink)
	}
	target, err := w.root.Readlink(name)
	if err != nil {
		return w.Explain(given, err)
	}
	return complain(nil, "%s is a symbolic link to %s, and links are not written through (write to the file that it leads to)",
		show(given), show(target))
}

func (r *replacement) write(ctx context.Context, content io.Reader) (int64, error) {
	temp := tempPrefix + rand.Text() + tempSuffix
	f, err := r.create(temp)
	if err != nil {
		return 0, err
	}
	done := false
	defer func() { // also when content panics
		if !done {
			// What went wrong before is what matters, not what these say.
			_ = f.Close()
			_ = r.dir.Remove(temp)
		}
	}()
	n, err := io.Copy(f, Reader(ctx, content))
	if err != nil {
		return 0, err
	}
	if err := r.finish(f); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.commit(temp); err != nil {
		return 0, err
	}
	done = true
	return n, nil
}

// create never opens what is there already, and lets nobody read the new
// content who may not read the old.
func (r *replacement) create(temp string) (*os.File, error) {
	mode := r.mode
	if !r.created {
		mode &= 0o600
	}
	return r.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (r *replacement) finish(f *os.File) error {
	if !r.created {
		// By the open file: the umask has no say, and os.Root.Chmod can be
		// made to hit another file.
		if err := f.Chmod(r.mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}
