package verify

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

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
		if strings.HasPrefix(mode, "d") && err == nil {
			err = w.Add(filepath.Join(dir, path))
		}
	}
	if t.notices = w; err != nil {
		t.notices = nil
		_ = w.Close()
	}
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
