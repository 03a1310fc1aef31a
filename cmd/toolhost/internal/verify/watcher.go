package verify

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// notices are what the system says of a directory: what is removed again leaves one, too.
type notices struct {
	*fsnotify.Watcher
	dir, end string // what is watched; and a directory in which the last notice is made
}

// watch reads a directory, and has the system say from now on what is written there. Where it says nothing, as
// with too many directories, only what stays is seen.
func (s *subject) watch(dir string) tree {
	t := treeOf(dir)
	end, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		return t
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return t
	}
	t.notices = &notices{w, dir, end}
	err = errors.Join(w.Add(end), w.Add(dir))
	for path, mode := range t.entries {
		if strings.HasPrefix(mode, "d") && err == nil {
			err = w.Add(filepath.Join(dir, path))
		}
	}
	if err != nil {
		_ = w.Close()
		t.notices = nil
	}
	return t
}

// written ends the watch, and returns the paths that were made, written or removed since it began.
func (t *tree) written() (paths []string) {
	n := t.notices
	if n == nil {
		return nil
	}
	defer func() { _ = n.Close() }()
	if os.Mkdir(filepath.Join(n.end, "end"), 0o700) != nil {
		return nil
	}
	for {
		select {
		case e := <-n.Events:
			path, err := filepath.Rel(n.dir, e.Name)
			switch {
			case filepath.Dir(e.Name) == n.end:
				return paths
			case err == nil && e.Op != fsnotify.Chmod && !slices.Contains(paths, path):
				paths = append(paths, path)
			}
		case <-n.Errors: // there were too many
			return paths
		}
	}
}
