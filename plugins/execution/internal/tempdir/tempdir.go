// Package tempdir makes temporary directories that are removed even if the plugin
// is killed: the next plugin removes them, see [Sweep]. Start with [New].
package tempdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/tree"
)

const (
	// Prefix begins the names of the directories.
	Prefix   = "toolhost-execution-"
	lockFile = "lock"
)

// removeTime bounds the removal of one directory, because a program that was left
// behind may go on writing to it.
const removeTime = 10 * time.Second

// Base returns the directory in which [New] makes others: GOTMPDIR, which a host sets to where
// programs may be run in the sandbox, or the system's temporary directory.
func Base() string { return cmp.Or(os.Getenv("GOTMPDIR"), os.TempDir()) }

// New makes a directory in [Base]. A file in it is
// locked until remove is called or the plugin ends, so that [Sweep] can tell what
// a plugin that was killed left behind.
func New() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(Base(), Prefix)
	if err != nil {
		return "", nil, fmt.Errorf("a temporary directory cannot be made: %w", err)
	}
	made, err := os.Lstat(dir)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("the temporary directory cannot be used: %w", err), os.Remove(dir))
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	unlock := lock(dir)
	return dir, func() { removeAll(dir, made); unlock() }, nil
}

// lockContent marks a directory as one that this plugin made.
const lockContent = "toolhost execution\n"

// lock locks a file in a directory. The file gets its name once it is locked: a
// file of that name that is not locked has lost its owner.
func lock(dir string) (unlock func()) {
	unnamed := filepath.Join(dir, lockFile+".new")
	f, err := os.OpenFile(unnamed, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	_, err = f.WriteString(lockContent)
	if err == nil && safefile.Lock(f, safefile.Exclusive, time.Time{}) == nil {
		_ = os.Rename(unnamed, filepath.Join(dir, lockFile))
	}
	return func() { _ = f.Close() }
}

// Sweep removes the directories in temp that plugins of this user left when they
// were killed. It recognizes them by their names, by being closed to other users,
// and by the marked lock file inside.
func Sweep(temp string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		dir := filepath.Join(temp, e.Name())
		if !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		made, err := os.Lstat(dir)
		if err == nil && made.IsDir() && safefile.Private(made, 0o077) && isAbandoned(filepath.Join(dir, lockFile)) {
			removeAll(dir, made)
		}
	}
}

// isAbandoned reports whether a lock file has the mark and is not locked.
func isAbandoned(path string) bool {
	f, _, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	mark := make([]byte, len(lockContent)+1)
	n, _ := f.ReadAt(mark, 0)
	return string(mark[:n]) == lockContent && safefile.Lock(f, safefile.Exclusive, time.Time{}) == nil
}

// removeAll removes a directory that this plugin, or one before it, made.
func removeAll(dir string, made fs.FileInfo) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	_ = tree.Remove(ctx, dir, made) // the next sweep finds what remains
}
