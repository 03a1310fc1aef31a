package roster

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/host/internal/manifest"
)

// How Follow looks at directories. A file is taken when it was the same at two looks: if a
// copy is under way, the second look finds another size.
const (
	settlePause = 100 * time.Millisecond
	pollPause   = 10 * time.Second // for changes without a notice, as on network file systems
)

// Follow keeps the plugins in line with the directories until ctx ends, as host.Host.Follow
// says.
func (r *Roster) Follow(ctx context.Context, dirs ...string) error {
	notices, err := fsnotify.NewWatcher()
	w := dirWatcher{
		roster: r, dirs: dirs,
		busy: map[string]bool{}, seen: map[string]sight{}, logged: map[string]bool{}, done: make(chan string),
	}
	var events chan fsnotify.Event
	var lost chan error
	if err == nil {
		defer func() { _ = notices.Close() }()
		w.notices, events, lost = notices, notices.Events, notices.Errors
	}
	w.run(ctx, events, lost)
	return err
}

// dirWatcher is one run of Follow. All of it belongs to one goroutine.
type dirWatcher struct {
	roster  *Roster
	dirs    []string
	notices *fsnotify.Watcher // nil: there are none
	busy    map[string]bool   // plugins whose step is under way
	seen    map[string]sight  // plugins that differed at the last look
	logged  map[string]bool   // faults of directories, as long as they last
	done    chan string
	tasks   sync.WaitGroup
}

// sight is what was there at a look.
type sight struct {
	path  string // empty: no file
	stamp manifest.Stamp
}

func (w *dirWatcher) run(ctx context.Context, events chan fsnotify.Event, lost chan error) {
	defer w.finish()
	poll := time.NewTicker(pollPause)
	defer poll.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := true
	soon := func(pause time.Duration) {
		if !due { // however many notices come, there is a look
			due = true
			timer.Reset(pause)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if w.concerns(e.Name) {
				soon(settlePause / 4) // many come at once
			}
		case err := <-lost: // more came than fit
			w.roster.log.Debug("notices of plugin directories were lost", "error", err)
			soon(0)
		case <-poll.C:
			soon(0)
		case owner := <-w.done:
			delete(w.busy, owner)
			soon(0)
		case <-timer.C:
			due = false
			if w.look(ctx) {
				soon(settlePause)
			}
		}
	}
}

// concerns reports whether a path is one of the directories or in one. There are notices
// of their parents, too.
func (w *dirWatcher) concerns(path string) bool {
	return HoldsDir(w.dirs, path) || HoldsDir(w.dirs, filepath.Dir(path))
}

// finish waits for what is under way.
func (w *dirWatcher) finish() {
	go func() {
		w.tasks.Wait()
		close(w.done)
	}()
	for owner := range w.done {
		delete(w.busy, owner)
	}
}

// look begins the steps that are due, and reports whether others are due soon.
func (w *dirWatcher) look(ctx context.Context) (soon bool) {
	w.watch()
	steps, faults := w.roster.plan(w.dirs, false)
	w.roster.releaseOthers(steps)
	w.logFaults(faults)
	before := w.seen
	w.seen = map[string]sight{}
	for _, st := range steps {
		if w.busy[st.owner] {
			continue // it looks again when that step is done
		}
		m := w.roster.member(st.owner)
		now := sight{st.candidate.Path, manifest.StampOf(st.candidate.Path)}
		if last, there := before[st.owner]; !there || last != now || beingWritten(now.path) {
			w.seen[st.owner] = now
			soon = true
			continue
		}
		if m.hold(st) {
			continue
		}
		st.unasked = true
		w.busy[st.owner] = true
		w.tasks.Go(func() {
			if err := m.applyStep(ctx, st); err != nil && ctx.Err() == nil {
				w.roster.log.Warn("a plugin directory has changed", "plugin", st.owner, "error", err)
			}
			w.done <- st.owner
		})
	}
	return soon
}

// watch asks for notices of the directories, and of their parents, in which a directory
// that was gone comes back. Asking again costs little.
func (w *dirWatcher) watch() {
	if w.notices == nil {
		return
	}
	for _, dir := range w.dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		_ = w.notices.Add(filepath.Dir(abs))
		_ = w.notices.Add(abs)
	}
}

// logFaults logs what is wrong with the directories, once as long as it lasts.
func (w *dirWatcher) logFaults(faults []error) {
	now := map[string]bool{}
	for _, err := range faults {
		now[err.Error()] = true
		if !w.logged[err.Error()] {
			w.roster.log.Warn("a plugin directory cannot be followed as it is", "error", err)
		}
	}
	w.logged = now
}
