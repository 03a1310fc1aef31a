package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Modes of new files and directories, before the umask.
const (
	newFileMode fs.FileMode = 0o644
	newDirMode  fs.FileMode = 0o755
)

// tempPrefix and tempSuffix surround the random name of an incomplete file. One that
// remains after a crash of the machine can be deleted.
const (
	tempPrefix = ".toolhost-"
	tempSuffix = ".tmp"
)

// Written is the result of a write, for tools to return.
type Written struct {
	Path    string `json:"path" jsonschema:"the file, relative to the workspace root"`
	Bytes   int64  `json:"bytes" jsonschema:"how many bytes were written"`
	Created bool   `json:"created" jsonschema:"whether the file did not exist before"`
}

// Text returns the result for a reader.
func (w Written) Text() string {
	size, what := fmt.Sprintf("%d bytes", w.Bytes), ""
	if w.Bytes == 1 {
		size = "1 byte"
	}
	if w.Created {
		what = ", a new file"
	}
	return fmt.Sprintf("Wrote %s to %s%s.", size, Show(w.Path), what)
}

// Write writes a file in one step: readers see either the old content or the new, and so
// do readers after a crash. If it fails, the old file is unchanged. Missing directories
// are made, with 0755 before the umask, and remain if the write fails.
//
// An existing file keeps its permission bits, but not its owner or its hard links; a new
// one has 0644 before the umask. A directory, a symbolic link, a special file or a
// read-only file is refused.
func (w *Workspace) Write(ctx context.Context, given string, content io.Reader) (Written, error) {
	name, err := cleanFilePath(given)
	if err != nil {
		return Written{}, err
	}
	return w.replace(ctx, given, name, content, func(r *replacement, temp string) error {
		defer lock(ctx, r.dir)()
		w.commitMu.Lock()
		defer w.commitMu.Unlock()
		return r.dir.Rename(temp, r.name)
	})
}

// replace writes the content next to a file, and calls put to replace the file by it.
func (w *Workspace) replace(
	ctx context.Context, given, name string, content io.Reader, put func(r *replacement, temp string) error,
) (Written, error) {
	if err := w.checkWritable(given, name, nil); err != nil { // before any directory is made
		return Written{}, err
	}
	dir, err := w.makeDir(path.Dir(name))
	if err != nil {
		return Written{}, w.Explain(given, err)
	}
	defer func() { _ = dir.Close() }()
	if err := w.checkWritable(given, name, dir); err != nil {
		return Written{}, err
	}
	r := replacement{dir: dir, name: path.Base(name)}
	if err := w.inspect(given, name, &r); err != nil {
		return Written{}, err
	}
	r.commit = func(temp string) error { return put(&r, temp) }
	n, err := r.write(ctx, content)
	if err != nil {
		return Written{}, w.Explain(given, err)
	}
	return Written{Path: name, Bytes: n, Created: r.created}, nil
}

// cleanFilePath is [Clean] for the path of a file.
func cleanFilePath(given string) (string, error) {
	name, err := Clean(given)
	if err == nil && namesDir(given) {
		err = requireKind(File, given, fs.ModeDir)
	}
	return name, err
}

// namesDir reports whether a path can only lead to a directory.
func namesDir(given string) bool {
	last := given[strings.LastIndexByte(given, '/')+1:]
	return last == "" || last == "." || last == ".."
}

func (w *Workspace) makeDir(name string) (*os.Root, error) {
	if name != "." {
		err := w.root.MkdirAll(name, newDirMode)
		// Opening it gives a better error if it exists and is not a directory.
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return w.openDir(name)
}

// replacement is a file that replaces another, or takes a new name. All steps use one
// handle of the directory, so that replacing the directory at its path cannot separate
// them.
type replacement struct {
	dir     *os.Root
	name    string
	created bool
	mode    fs.FileMode
	// commit puts the complete file in place.
	commit func(temp string) error
}

// inspect checks the file that is to be replaced.
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
	if err := requireKind(File, given, info.Mode()); err != nil {
		return err
	}
	// A rename checks only the directory's permissions, so the file's own are checked
	// here.
	if r.mode = info.Mode().Perm(); r.mode&0o222 == 0 {
		return readOnly(given, r.mode)
	}
	return nil
}

// refuseLink returns the refusal of a link. Links are not resolved: a rename would
// replace the link, and its target may change before the new content is complete.
func (w *Workspace) refuseLink(given, name string) error {
	if _, err := w.root.Stat(name); errors.Is(err, w.errEscape) {
		return escapeError(given, hintLink)
	}
	target, err := w.root.Readlink(name)
	if err != nil {
		return w.Explain(given, err)
	}
	return newFault(nil, "%s is a symbolic link to %s, and links are not written through (write to the file that it leads to)",
		Show(given), Show(target))
}

func (r *replacement) write(ctx context.Context, content io.Reader) (int64, error) {
	temp := tempPrefix + rand.Text() + tempSuffix
	f, err := r.create(temp)
	if err != nil {
		return 0, err
	}
	done := false
	defer func() { // also if content panics
		if !done {
			// The earlier error matters, not theirs.
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

// create creates the temporary file. It does not open an existing file, and only the
// owner can read the new content of an existing file before it is complete.
func (r *replacement) create(temp string) (*os.File, error) {
	mode := r.mode
	if !r.created {
		mode &= 0o600
	}
	return r.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (r *replacement) finish(f *os.File) error {
	if !r.created {
		// By the open file: the umask does not apply, and os.Root.Chmod could be
		// tricked into changing another file.
		if err := f.Chmod(r.mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}
