package host

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/host/internal/manifest"
)

// How Follow looks at directories. A file is taken when it was the same at two looks:
// of a copy under way, the second finds another size.
const (
	settlePause = 100 * time.Millisecond
	pollPause   = 10 * time.Second // for what no notice tells, as of network file systems
)

// Follow keeps the host's plugins those that are in the directories, until ctx ends: it
// does what [Host.Sync] does, for each file when it changes and as soon as it is
// whole. A few plugins are started at a time. A file that is being written is not run,
// nor one that is gone for a moment withdrawn; a directory that goes away changes
// nothing, and is looked at again when it is back. What could not be done is logged.
//
// What is new, has changed or is gone inside the root is held until [Host.Sync] or
// [Host.SyncPlugin], as the tools of this host may have written it; [WithHolding] says
// otherwise. It is logged and is in [Host.Plugins]; the plugin goes on as it was.
//
// # Errors
//
// None but that of the system's having no watches left; then it looks every 10 s.
func (h *Host) Follow(ctx context.Context, dirs ...string) error {
	notices, err := fsnotify.NewWatcher()
	f := follow{host: h, dirs: dirs, busy: map[string]bool{}, seen: map[string]sight{}, told: map[string]bool{}, done: make(chan string)}
	var events chan fsnotify.Event
	var lost chan error
	if err == nil {
		defer func() { _ = notices.Close() }()
		f.notices, events, lost = notices, notices.Events, notices.Errors
	}
	f.run(ctx, events, lost)
	return err
}

// follow is one run of Follow. All of it belongs to one goroutine.
type follow struct {
	host    *Host
	dirs    []string
	notices *fsnotify.Watcher // nil: there are none
	busy    map[string]bool   // plugins that a step is under way for
	seen    map[string]sight  // plugins that something is to be done for, at the last look
	told    map[string]bool   // faults of directories, as long as they last
	done    chan string
	tasks   sync.WaitGroup
}

// sight is what was there at a look.
type sight struct {
	path  string // empty: no file
	stamp manifest.Stamp
}

func (f *follow) run(ctx context.Context, events chan fsnotify.Event, lost chan error) {
	defer f.finish()
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
			if f.concerns(e.Name) {
				soon(settlePause / 4) // many come at once
			}
		case err := <-lost: // as where more came than fit
			f.host.opts.logger.Debug("notices of plugin directories were lost", "error", err)
			soon(0)
		case <-poll.C:
			soon(0)
		case owner := <-f.done:
			delete(f.busy, owner)
			soon(0)
		case <-timer.C:
			due = false
			if f.look(ctx) {
				soon(settlePause)
			}
		}
	}
}

// concerns reports whether a path is one of the directories or in one. The notices
// are of those above, too.
func (f *follow) concerns(path string) bool {
	return holdsDir(f.dirs, path) || holdsDir(f.dirs, filepath.Dir(path))
}

// finish waits for what is under way.
func (f *follow) finish() {
	go func() {
		f.tasks.Wait()
		close(f.done)
	}()
	for owner := range f.done {
		delete(f.busy, owner)
	}
}

// look begins the steps that are due, and reports whether there are others to come
// soon.
func (f *follow) look(ctx context.Context) (soon bool) {
	f.watch()
	steps, faults := f.host.plan(f.dirs, false)
	f.host.releaseOthers(steps)
	f.tell(faults)
	before := f.seen
	f.seen = map[string]sight{}
	for _, s := range steps {
		if f.busy[s.owner] {
			continue // it looks again when it is done
		}
		now := sight{s.candidate.Path, manifest.StampOf(s.candidate.Path)}
		if was, there := before[s.owner]; !there || was != now || beingWritten(now.path) {
			f.seen[s.owner] = now
			soon = true
			continue
		}
		if f.host.hold(s) {
			continue
		}
		s.unasked = true
		f.busy[s.owner] = true
		f.tasks.Go(func() {
			if err := f.host.take(ctx, s); err != nil && ctx.Err() == nil {
				f.host.opts.logger.Warn("a plugin directory has changed", "plugin", s.owner, "error", err)
			}
			f.done <- s.owner
		})
	}
	return soon
}

// watch asks for notices of the directories, and of those above, where one that was
// gone comes back. Asking again costs little.
func (f *follow) watch() {
	if f.notices == nil {
		return
	}
	for _, dir := range f.dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		_ = f.notices.Add(filepath.Dir(abs))
		_ = f.notices.Add(abs)
	}
}

// tell logs what is wrong with the directories, once as long as it lasts.
func (f *follow) tell(faults []error) {
	now := map[string]bool{}
	for _, err := range faults {
		now[err.Error()] = true
		if !f.told[err.Error()] {
			f.host.opts.logger.Warn("a plugin directory cannot be followed as it is", "error", err)
		}
	}
	f.told = now
}
