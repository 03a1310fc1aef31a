package dev

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How sources are looked at: editors write several files, and each in several steps.
const (
	quietTime = 100 * time.Millisecond // without a notice
	mostNoise = time.Second            // and then whether or not there are more
	pollPause = 5 * time.Second        // for changes without a notice, as on network file systems
	fastPause = time.Second            // the same, if the system gives no notices
)

// watch tells of changes of the sources.
type watch struct {
	sources *sources
	notices *fsnotify.Watcher // nil: there are none
}

func newWatch(s *sources) *watch {
	w := &watch{sources: s}
	if notices, err := fsnotify.NewWatcher(); err == nil {
		w.notices = notices
	}
	return w
}

func (w *watch) close() {
	if w.notices != nil {
		_ = w.notices.Close()
	}
}

// look reports whether the sources are others than at the last look. Directories
// that appear are followed before it looks into them again.
func (w *watch) look(ctx context.Context) (changed bool, err error) {
	for {
		now, dirs, err := w.sources.look(ctx)
		if err != nil {
			return false, err
		}
		changed = changed || now
		if !w.follow(dirs) {
			return changed, nil
		}
	}
}

// follow asks for notices of directories, and reports whether one of them is new.
func (w *watch) follow(dirs []string) (added bool) {
	if w.notices == nil {
		return false
	}
	followed := map[string]bool{}
	for _, dir := range w.notices.WatchList() {
		followed[dir] = true
	}
	for _, dir := range dirs {
		if !followed[dir] && w.notices.Add(dir) == nil {
			added = true
		}
	}
	return added
}

// followNew follows a directory that has just been made: what is put into it is a source before the
// directory is known as one that has some.
func (w *watch) followNew(e fsnotify.Event) {
	if !e.Has(fsnotify.Create) || isLeft(filepath.Base(e.Name)) {
		return
	}
	if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
		_ = w.notices.Add(e.Name)
	}
}

// wait waits until the sources have changed, or ctx has ended.
func (w *watch) wait(ctx context.Context) error {
	pause := pollPause
	var events chan fsnotify.Event
	var lost chan error
	if w.notices != nil {
		events, lost = w.notices.Events, w.notices.Errors
	} else {
		pause = fastPause
	}
	timer := time.NewTimer(0) // they may have changed while they were built
	defer timer.Stop()
	var first time.Time // notice since the last look
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-events:
			w.followNew(e)
			if first.IsZero() {
				first = time.Now()
			}
			if time.Since(first) < mostNoise {
				timer.Reset(quietTime)
			}
		case <-lost: //nolint:errcheck // what was lost is looked for
			timer.Reset(quietTime)
		case <-timer.C:
			first = time.Time{}
			changed, err := w.look(ctx)
			if changed || err != nil {
				return err
			}
			timer.Reset(pause)
		}
	}
}
