// Package workspace confines a plugin to one directory tree.
//
// [Open] takes the directory that the operator chose; from then on paths are
// relative to it and have slashes, on every system. [Workspace.Open] opens a
// file for reading, [Workspace.Write] puts a file in place in one step,
// [Workspace.Change] does so if the file is still the one that was read, and
// [Workspace.Walk] reads directories. [Current] is for a plugin that learns its directory
// late.
//
// # What is confined
//
// No path leads out: not an absolute one, not one with too many "..", not one
// through a symbolic link, and not one through a link that is put there while a call
// runs. [os.Root] ensures that. This package adds that anything but a regular file or a
// directory is refused without waiting for it, and that a write pins its directory and
// never goes through a link.
//
// Files that the host protects (its configuration, its plugin directories and the like)
// can be read but never written, by any name or link, whether they exist or not. What is
// called .git can be written only if [Current.Configure] was told so.
//
// ".." is resolved before any link is followed: "a/../b" is "b".
//
// # What is not
//
// A hard link or a mount inside the tree shows what is outside, because neither looks
// different from what belongs there. A write is safe from hard links: it replaces the
// old file by a new one.
//
// # Errors
//
// A path that leads out of the tree, and a write to one that is protected, return a
// [*tool.Error] with [tool.CodePermissionDenied]. All other errors are plain, name the
// path as given, say what to do and keep the cause for [errors.Is].
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/toolhost/toolhost/internal/protect"
)

// Workspace is a directory tree that paths cannot leave. Its methods may be
// called by several goroutines.
type Workspace struct {
	root *os.Root
	path string // of the directory, with links resolved
	// protected are paths that are never written; see [protect.Covers].
	protected []string
	git       bool // git's files may be written
	// errEscape is the error of os.Root for a path that leads out of it. The standard
	// library does not export it.
	errEscape error
	// changing has one element during a [Workspace.Change]. commitMu is held while a
	// complete file is compared with the one that it replaces, and put in place.
	changing chan struct{}
	commitMu sync.Mutex
}

// Open opens the directory root, following symbolic links to it. If the directory is
// moved later, the workspace moves with it. Protected are absolute paths of files and
// directories, which need not exist, that are read and never written. With any of them,
// a workspace that was moved is not written any more.
func Open(root string, protected ...string) (*Workspace, error) {
	// os.OpenRoot would wait for a writer if this were a named pipe.
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("opening the workspace: %s is %s, not a directory", root, describe(info.Mode()))
	}
	abs, _, err := protect.Resolve(root)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	r, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	errEscape, err := findEscapeError(r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Workspace{
		root: r, path: abs, protected: protected, errEscape: errEscape,
		changing: make(chan struct{}, 1),
	}, nil
}

// findEscapeError returns the error for a path that escapes, by provoking it: comparing
// texts would be fragile.
func findEscapeError(r *os.Root) (error, error) {
	_, err := r.Lstat("..")
	var refused *fs.PathError
	if !errors.As(err, &refused) {
		return nil, errors.New("opening the workspace: this system does not confine paths to it")
	}
	return refused.Err, nil
}

// Close closes the directory. Later calls fail.
func (w *Workspace) Close() error { return w.root.Close() }

// openDir opens a directory. The Root stays with it, whatever is put at its path later.
func (w *Workspace) openDir(name string) (*os.Root, error) {
	// The dot makes os.Root open name only as a directory. Without it a named pipe would
	// block the call.
	return w.root.OpenRoot(name + "/.")
}
