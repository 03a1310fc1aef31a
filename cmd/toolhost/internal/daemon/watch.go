package daemon

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/trust"
)

// How long to wait before the configuration file is read: editors write it in several steps.
// Events of other files in its directory, such as an audit log, may concern the target of a
// link, but do not put the reading off.
const (
	configPause = 100 * time.Millisecond
	otherPause  = time.Second
)

// How often the file is read without an event: for changes that the system does not tell of,
// as on network file systems, and if it tells of none.
const (
	pollPause = 10 * time.Second
	fastPause = time.Second
)

// watchConfig sends to changed when the configuration file has other content than the one in
// effect and may be applied without the operator's word. Content that may not is a fault of the
// daemon. The watch ends when stop is called.
func (d *daemon) watchConfig(changed chan<- struct{}) (stop func()) {
	path, _, err := d.session.Flags.ConfigPath()
	if err != nil {
		d.log.Warn("changes of the configuration file are not noticed: send SIGHUP", "error", err)
		return func() {}
	}
	w := configWatch{
		daemon: d, path: path, changed: changed, end: make(chan struct{}),
		last: d.current.Load().settings.Config.Digest(),
	}
	if s, err := trust.Open(); err == nil {
		w.store = s.Path()
	}
	notices, err := fsnotify.NewWatcher()
	if err == nil {
		w.notices, w.events, w.lost = notices, notices.Events, notices.Errors
		err = w.watchDirs()
	}
	if err != nil {
		w.pause = fastPause
		d.log.Warn("changes of the configuration file are noticed late, as the system gives no notices of them",
			"file", path, "read_every", fastPause, "error", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run()
	}()
	return func() {
		close(w.end)
		<-done
		if w.notices != nil {
			_ = w.notices.Close()
		}
	}
}

// configWatch watches a configuration file. It belongs to one goroutine.
type configWatch struct {
	daemon  *daemon
	path    string
	target  string            // of path, if that is a link
	store   string            // the list of trusted files; empty: there is none
	notices *fsnotify.Watcher // nil: the system gives none
	events  <-chan fsnotify.Event
	lost    <-chan error
	pause   time.Duration // between two readings without an event
	changed chan<- struct{}
	end     chan struct{}
	last    string // digest of the content that was reported last
	held    string // digest of the content that waits for the operator; empty: none
}

// run checks the file at the start, as it was read some time before, and after each event.
func (w *configWatch) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	poll := time.NewTicker(cmp.Or(w.pause, pollPause))
	defer poll.Stop()
	due := true
	for {
		select {
		case <-w.end:
			return
		case e := <-w.events:
			switch {
			case e.Name == w.path || e.Name == w.target || e.Name == w.store:
				timer.Reset(configPause)
			case !due:
				timer.Reset(otherPause)
			}
			due = true
		case err := <-w.lost: // such as an overflow of events
			w.daemon.log.Debug("notices of the configuration file were lost", "error", err)
			timer.Reset(configPause)
			due = true
		case <-poll.C:
			if !due {
				w.check()
			}
		case <-timer.C:
			due = false
			w.check()
		}
	}
}

// watchDirs watches the directory of the file, as editors replace the file, and the directory
// that a link leads to.
func (w *configWatch) watchDirs() error {
	if w.notices == nil {
		return nil
	}
	err := w.notices.Add(filepath.Dir(w.path))
	if w.store != "" {
		_ = w.notices.Add(filepath.Dir(w.store)) // it need not exist
	}
	if target, bad := filepath.EvalSymlinks(w.path); bad == nil {
		w.target = target
		_ = w.notices.Add(filepath.Dir(target))
	}
	return err
}

// check reports or holds other content. A file that is gone may be about to come back.
func (w *configWatch) check() {
	_ = w.watchDirs()
	now, err := trust.Digest(w.path)
	inEffect := w.daemon.current.Load()
	applied := now == inEffect.identity.ConfigDigest
	switch {
	case err != nil, now == w.last && w.held == "":
	case applied && (now == w.last || now == w.held):
		w.last = now // the old content is back, or the operator has applied it
		w.hold("")
	case applied, w.counts(now, inEffect.settings):
		w.last = now
		w.hold("")
		select {
		case w.changed <- struct{}{}:
		default: // a reload is due already
		}
	default:
		w.hold(now)
	}
}

func (w *configWatch) counts(digest string, current *session.Settings) bool {
	ok, err := w.daemon.session.Counts(session.ByChange, digest, current.Root, current)
	return ok && err == nil
}

// hold sets the content that waits for the operator, which it reports once; empty: none.
func (w *configWatch) hold(digest string) {
	if w.held == digest {
		return
	}
	w.held = digest
	if digest == "" {
		w.daemon.held.Store(nil)
		return
	}
	held := session.Held(w.path)
	w.daemon.log.Warn("reload", "fault", held)
	w.daemon.held.Store(held)
}
