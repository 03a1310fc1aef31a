package verify

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// tree is what a directory contains: by the path from there, what would show a change.
type tree struct {
	entries map[string]string
	whole   bool // it was not too large

	dir, end string            // itself, and a directory in which the last notice is made
	notices  *fsnotify.Watcher // of what is written in it meanwhile; nil: there are none
}

// The limits of a tree.
const (
	maxEntries = 10_000
	maxHashed  = 1 << 20 // bytes of a file; of a larger one only size and time count
)

var errTooLarge = errors.New("too many files")

// treeOf reads a directory. Links are not followed.
func treeOf(dir string) tree {
	t := tree{dir: dir, entries: map[string]string{}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == ".":
			return err
		case len(t.entries) == maxEntries:
			return errTooLarge
		case err != nil:
			t.entries[path] = err.Error()
			return nil //nolint:nilerr // it is compared
		}
		t.entries[path] = fingerprint(filepath.Join(dir, path), d)
		return nil
	})
	t.whole = err == nil
	return t
}

func fingerprint(path string, d fs.DirEntry) string {
	info, err := d.Info()
	if err != nil {
		return err.Error()
	}
	shown := fmt.Sprint(info.Mode(), " ")
	switch {
	case d.IsDir():
		return shown
	case !info.Mode().IsRegular() || info.Size() > maxHashed:
		return shown + fmt.Sprint(info.Size(), info.ModTime())
	}
	text, err := os.ReadFile(path) //nolint:gosec // of the workspace
	return shown + fmt.Sprintf("%x %v", sha256.Sum256(text), err)
}

// changes returns the paths that differ between two trees, sorted.
func changes(before, after tree) (paths []string) {
	for path, now := range after.entries {
		if before.entries[path] != now {
			paths = append(paths, filepath.ToSlash(path))
		}
	}
	for path := range before.entries {
		if _, there := after.entries[path]; !there {
			paths = append(paths, filepath.ToSlash(path))
		}
	}
	slices.Sort(paths)
	return paths
}

// changed is the finding about a directory that should be as it was.
func changed(before, after tree, when string) finding {
	written, left := before.written(), changes(before, after)
	switch {
	case !after.whole || !before.whole:
		return skip("the workspace has more than %d files", maxEntries)
	case len(left) > 0:
		return fail("since %s, this has changed in the workspace: %s", when, named(left))
	case len(written) > 0:
		return fail("since %s, this was written in the workspace, though it is as before now: %s", when, named(written))
	}
	return passed
}
