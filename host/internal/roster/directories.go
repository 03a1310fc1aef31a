package roster

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// directories are those that plugins come from, with what was found in them that is not a plugin.
type directories struct {
	mu      sync.Mutex
	dirs    []string                    // absolute
	skipped map[string][]plugin.Skipped // by directory
	faults  []*tool.Error               // of those that are followed
}

// all returns the directories.
func (d *directories) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.dirs)
}

// addDirs remembers where plugins come from, before any of them starts.
func (d *directories) addDirs(dirs []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range dirs {
		if abs, err := filepath.Abs(dir); err == nil && !slices.Contains(d.dirs, abs) {
			d.dirs = append(d.dirs, abs)
		}
	}
}

// discover finds the plugins of a directory, and remembers what else is in it.
func (d *directories) discover(dir string) ([]plugin.Candidate, error) {
	found, skipped, err := pluginrun.Discover(dir)
	if err != nil {
		return nil, err
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.skipped[dir] = skipped
	return found, nil
}

// Skipped returns the entries of the plugin directories that are not plugins, and why,
// sorted by path.
func (d *directories) Skipped() []plugin.Skipped {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []plugin.Skipped
	for _, dir := range slices.Sorted(maps.Keys(d.skipped)) {
		out = append(out, d.skipped[dir]...)
	}
	return out
}

// Faults returns what keeps Follow from following directories as it should, at its last look.
func (d *directories) Faults() []*tool.Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.faults)
}

func (d *directories) setFaults(faults []*tool.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = faults
}

// forgetFaults forgets the faults of directories that a look at dirs, with these faults, did not
// find any more: the next look of Follow may be a while away.
func (d *directories) forgetFaults(dirs []string, found []error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range d.dirs {
		if !HoldsDir(dirs, dir) {
			return
		}
	}
	d.faults = slices.DeleteFunc(slices.Clone(d.faults), func(e *tool.Error) bool {
		lasts := func(err error) bool { return tool.AsError(err).Message == e.Message }
		return !errors.Is(e, errUnnoticed) && !slices.ContainsFunc(found, lasts)
	})
}

// HoldsDir reports whether a directory, an absolute path, is one of dirs.
func HoldsDir(dirs []string, dir string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		abs, err := filepath.Abs(d)
		return err == nil && abs == dir
	})
}
