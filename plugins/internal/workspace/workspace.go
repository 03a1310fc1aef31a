// Package workspace confines a plugin to one directory tree.
//
// [Open] takes the directory that the operator chose; from then on paths are
// relative to it and have slashes, on every system. [Workspace.Open] opens a
// file for reading, [Workspace.Write] puts a file in place in one step,
// [Workspace.Change] does so if the file is still the one that was read, and
// [Workspace.List] and [Workspace.Walk] look into directories. [Current] is for
// a plugin that is told its directory late.
//
// # What is confined
//
// No path leads out: not an absolute one, not one with too many "..", not one
// through a symbolic link, and not one through a link that is put there while
// a call runs. [os.Root] sees to that; what it leaves open is closed here:
// what is neither a regular file nor a directory is refused without waiting for
// it, and a write pins its directory and never goes through a link.
//
// What the host says is protected (its configuration, its plugin directories and the
// like) is read and never written, by whatever name or link, whether it exists or not.
//
// ".." is taken by the letter, before any link is followed: "a/../b" is "b".
//
// # What is not
//
// A hard link or a mount inside the tree shows what is outside, as neither
// looks different from what belongs there. A write is safe from hard links: it
// puts a new file in place of the old one.
//
// # Errors
//
// A path that would leave the tree, and a write to one that is protected, gives a
// [*tool.Error] with [tool.CodePermissionDenied]. All other errors are plain, name the path as
// given, say what to do and keep the cause for [errors.Is].
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
	// protected are paths that nothing is written to; see [protect.Covers].
	protected []string
	// escape is the error that os.Root gives for a path that leaves it. The
	// standard library does not export it.
	escape error
	// changing holds one [Workspace.Change] at a time; putting is held while a
	// complete file is put in place, and compared with what it replaces.
	changing chan struct{}
	putting  sync.Mutex
}

// Open opens the directory root, following symbolic links to it. If the
// directory is moved later, the workspace moves with it. Protected are absolute
// paths, of files and directories that exist or not, that are read and never
// written; where there are some, a workspace that was moved is not written any more.
func Open(root string, protected ...string) (*Workspace, error) {
	// os.OpenRoot would wait for somebody to write if this were a named pipe.
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
	escape, err := provokeEscape(r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Workspace{root: r, path: abs, protected: protected, escape: escape, changing: make(chan struct{}, 1)}, nil
}

// provokeEscape learns the error for a path that escapes by asking for one,
// which is sturdier than to compare its text.
func provokeEscape(r *os.Root) (error, error) {
	_, err := r.Lstat("..")
	var refused *fs.PathError
	if !errors.As(err, &refused) {
		return nil, errors.New("opening the workspace: this system does not confine paths to it")
	}
	return refused.Err, nil
}

// Close gives the directory back. Calls after it fail.
func (w *Workspace) Close() error { return w.root.Close() }

// openDir pins a directory: whatever is put at its path later, the Root stays
// with the directory that was there.
func (w *Workspace) openDir(name string) (*os.Root, error) {
	// The dot makes name an element on the way, which os.Root opens only as a
	// directory. Without it a named pipe would block the call.
	return w.root.OpenRoot(name + "/.")
}
