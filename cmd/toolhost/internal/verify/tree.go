package verify

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// tree is what a directory contained at a moment, and what is written there from then on.
type tree struct {
	dir     string
	entries map[string]string // by the path from there, what would show a change
	whole   bool              // it was not too large

	notices *fsnotify.Watcher // nil: the system does not say what is written
	end     string            // a directory in which the last notice is made
}

// The limits of a tree.
const (
	maxEntries = 10_000
	maxHashed  = 1 << 20 // bytes of a file; of a larger one only size and time count
)

// treeOf reads a directory. Links are not followed.
func treeOf(dir string) tree {
	t := tree{dir: dir, entries: map[string]string{}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if path == "." {
			return err
		}
		if t.entries[path] = fmt.Sprint(err); err == nil {
			t.entries[path] = fingerprint(filepath.Join(dir, path), d)
		}
		if len(t.entries) > maxEntries {
			return fs.SkipAll
		}
		return nil
	})
	t.whole = err == nil && len(t.entries) <= maxEntries
	return t
}

func fingerprint(path string, d fs.DirEntry) string {
	info, err := d.Info()
	switch {
	case err != nil:
		return err.Error()
	case d.IsDir():
		return info.Mode().String()
	case !info.Mode().IsRegular() || info.Size() > maxHashed:
		return fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
	}
	text, err := os.ReadFile(path) //nolint:gosec // of the workspace
	return fmt.Sprintf("%v %x %v", info.Mode(), sha256.Sum256(text), err)
}

// watch reads a directory, and has the system say from now on what is written there: what is removed again is seen,
// too. Where the system does not, as of too many directories, only what stays is seen.
func (s *subject) watch(dir string) tree {
	t := treeOf(dir)
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return t
	}
	t.end, err = os.MkdirTemp(s.dir, "")
	err = errors.Join(err, w.Add(t.end), w.Add(dir))
	for path, mode := range t.entries {
		if mode[0] == 'd' && err == nil {
			err = w.Add(filepath.Join(dir, path))
		}
	}
	if err != nil {
		_ = w.Close()
		return t
	}
	t.notices = w
	return t
}

// written ends the watch, and returns the paths that were made, written or removed since it began.
func (t *tree) written() (paths []string) {
	if t.notices == nil {
		return nil
	}
	defer func() { _ = t.notices.Close() }()
	if os.Mkdir(filepath.Join(t.end, "end"), 0o700) != nil {
		return nil
	}
	for {
		select {
		case e := <-t.notices.Events:
			path, err := filepath.Rel(t.dir, e.Name)
			switch {
			case filepath.Dir(e.Name) == t.end:
				return paths
			case err == nil && e.Op != fsnotify.Chmod && !slices.Contains(paths, path):
				paths = append(paths, path)
			}
		case err := <-t.notices.Errors: // there were too many
			if err != nil {
				return paths
			}
		}
	}
}

// changed is the finding about a directory that should be as it was.
func (t *tree) changed(when string) finding {
	written, now := t.written(), treeOf(t.dir)
	for path, is := range now.entries {
		if was := t.entries[path]; was == is {
			delete(t.entries, path)
		} else {
			t.entries[path] = is
		}
	}
	switch left := slices.Sorted(maps.Keys(t.entries)); {
	case !t.whole || !now.whole:
		return skip("the workspace has more than %d files", maxEntries)
	case len(left) > 0:
		return fail("since %s, this has changed in the workspace: %s", when, named(left))
	case len(written) > 0:
		return fail("since %s, this was written in the workspace, though it is as before now: %s", when, named(written))
	}
	return passed
}
