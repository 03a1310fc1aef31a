package roster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// How Follow looks at directories. A file is taken when it was the same at two looks: if a
// copy is under way, the second look finds another size.
const (
	settlePause = 100 * time.Millisecond
	pollPause   = 10 * time.Second // for changes without a notice, as on network file systems
	fastPause   = time.Second      // the same, if the system gives no notices
)

// Follow keeps the plugins in line with the directories until ctx ends, as host.Host.Follow
// says.
func (r *Roster) Follow(ctx context.Context, dirs ...string) error {
	w := dirWatcher{
		roster: r, dirs: dirs,
		busy: map[string]bool{}, seen: map[string]sight{}, logged: map[string]bool{}, done: make(chan string),
	}
	w.run(ctx)
	return nil
}

// dirWatcher is one run of Follow. All of it belongs to one goroutine.
type dirWatcher struct {
	roster *Roster
	dirs   []string
	busy   map[string]bool  // plugins whose step is under way
	seen   map[string]sight // plugins that differed at the last look
	logged map[string]bool  // faults of directories, as long as they last
	done   chan string
	tasks  sync.WaitGroup

	notices *fsnotify.Watcher // nil: there are none
	events  chan fsnotify.Event
	lost    chan error
	links   map[string]bool // what lies on the way to plugins that are links
}

// sight is what was there at a look.
type sight struct {
	path  string // empty: no file
	stamp manifest.Stamp
}

func (w *dirWatcher) run(ctx context.Context) {
	defer w.finish()
	poll := time.NewTimer(0)
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
		case e := <-w.events:
			if w.concerns(e.Name) {
				soon(settlePause / 4) // many come at once
			}
		case err := <-w.lost: // more came than fit
			w.roster.log.Debug("notices of plugin directories were lost", "error", err)
			soon(0)
		case <-poll.C:
			soon(0)
		case owner := <-w.done:
			delete(w.busy, owner)
			soon(0)
		case <-timer.C:
			due = false
			pause := pollPause
			late := w.watch()
			if late != nil {
				pause = fastPause
			}
			if w.look(ctx, late) {
				soon(settlePause)
			}
			poll.Reset(pause)
		}
	}
}

// concerns reports whether a path is one of the directories, in one, or on the way to a plugin
// that is a link. There are notices of other files next to these, too.
func (w *dirWatcher) concerns(path string) bool {
	return HoldsDir(w.dirs, path) || HoldsDir(w.dirs, filepath.Dir(path)) || w.links[path]
}

// finish waits for what is under way.
func (w *dirWatcher) finish() {
	if w.notices != nil {
		_ = w.notices.Close()
	}
	w.roster.setFaults(nil)
	go func() {
		w.tasks.Wait()
		close(w.done)
	}()
	for owner := range w.done {
		delete(w.busy, owner)
	}
}

// look begins the steps that are due, and reports whether others are due soon. Late says why
// there are no notices; nil: there are.
func (w *dirWatcher) look(ctx context.Context, late error) (soon bool) {
	steps, faults := w.roster.plan(w.dirs, onLook)
	w.roster.releaseOthers(steps)
	if late != nil {
		faults = append(faults, late)
	}
	w.report(faults)
	before := w.seen
	w.seen = map[string]sight{}
	for _, st := range steps {
		if w.busy[st.owner] {
			continue // it looks again when that step is done
		}
		m := w.roster.member(st.owner)
		file := st.candidate.Binary()
		now := sight{file, manifest.StampOf(file)}
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
			err := m.applyStep(ctx, st)
			switch {
			case err == nil, ctx.Err() != nil:
			case errors.Is(err, pluginrun.ErrIncomplete): // it is looked at again when it grows
				w.roster.log.Debug("a plugin is not all there yet", "plugin", st.owner, "error", err)
			default:
				w.roster.log.Warn("a plugin directory has changed", "plugin", st.owner, "error", inShort(st.owner, err))
			}
			w.done <- st.owner
		})
	}
	return soon
}

// watch asks for notices of the directories, of their parents, in which a directory that was
// gone comes back, and of what links lead through. Asking again costs little. It returns why
// changes are noticed late; nil: they are not.
func (w *dirWatcher) watch() error {
	if w.notices == nil {
		notices, err := fsnotify.NewWatcher()
		if err != nil {
			return unnoticed(err)
		}
		w.notices, w.events, w.lost = notices, notices.Events, notices.Errors
	}
	var wanted []string
	for _, dir := range w.dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			wanted = append(wanted, filepath.Dir(abs), abs)
		}
	}
	w.links = map[string]bool{}
	for _, link := range w.roster.linked() {
		on, _ := protect.Expand(link) // what leads in a circle is mended where it lies
		for _, path := range on {
			w.links[path] = true
			wanted = append(wanted, filepath.Dir(path))
		}
	}
	for _, dir := range wanted {
		err := w.notices.Add(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return unnoticed(err)
		}
	}
	return nil
}

// errUnnoticed is the cause of a fault that is not of one directory.
var errUnnoticed = errors.New("there are no notices of changes")

// unnoticed is the fault of a system that gives no notices of changes.
func unnoticed(err error) error {
	e := &tool.Error{
		Code: tool.CodeResourceExhausted, Err: fmt.Errorf("%w: %w", errUnnoticed, err),
		Message: fmt.Sprintf("changes in the plugin directories are noticed late, by a look every %v: "+
			"the system gives no notices of them: %v", fastPause, err),
		OperatorHint: "close what follows many files, or raise the system's limits",
	}
	if runtime.GOOS == "linux" {
		e.OperatorHint = "raise the limits: sysctl fs.inotify.max_user_instances fs.inotify.max_user_watches"
	}
	return e
}

// report shows what is wrong with the directories, and logs it once as long as it lasts.
func (w *dirWatcher) report(faults []error) {
	now := map[string]bool{}
	var shown []*tool.Error
	for _, err := range faults {
		e := tool.AsError(err)
		shown = append(shown, e)
		now[e.Message] = true
		if !w.logged[e.Message] {
			w.roster.log.Warn("a plugin directory cannot be followed as it is", "error", e.Message, "hint", e.Advice())
		}
	}
	for text := range w.logged {
		if !now[text] {
			w.roster.log.Info("a plugin directory can be followed again", "was", text)
		}
	}
	w.logged = now
	w.roster.setFaults(shown)
}
