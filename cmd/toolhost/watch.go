package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/trust"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A configuration file has to be left alone for a while before it is read, as an editor
// writes it in several steps. What happens beside it, as calls that are put on record
// there, may be what it is linked to, and puts nothing off.
const (
	configPause  = 100 * time.Millisecond
	besidesPause = time.Second
)

// watchConfig tells when the configuration file has another content than the one in
// force, and may be gone by without an operator's word. One that may not is a fault of
// the daemon's until then. The function that comes back ends that.
func (a *app) watchConfig(d *daemon, changed chan<- struct{}) (stop func()) {
	log := d.log
	path, _, err := a.configPath()
	var notices *fsnotify.Watcher
	if err == nil {
		notices, err = fsnotify.NewWatcher()
	}
	if err != nil {
		log.Warn("changes of the configuration file are not noticed: send SIGHUP", "error", err)
		return func() {}
	}
	w := configWatch{path: path, notices: notices, changed: changed, last: a.configured().Digest(), daemon: d, counts: func(digest string) bool {
		ok, err := a.counts(aChange, digest)
		return ok && err == nil
	}}
	if s, err := trust.Open(); err == nil {
		w.store = s.Path()
	}
	if err := w.follow(); err != nil {
		log.Warn("changes of the configuration file are not noticed: send SIGHUP", "file", path, "error", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run()
	}()
	return func() {
		_ = notices.Close()
		<-done
	}
}

// configWatch looks at a file. All of it belongs to one goroutine.
type configWatch struct {
	path    string
	target  string // of a link
	store   string // where trust is kept; empty: nowhere
	notices *fsnotify.Watcher
	changed chan<- struct{}
	daemon  *daemon
	counts  func(digest string) bool // whether this content may be gone by
	last    string                   // the content that was told of
	held    string                   // the content that was held; empty: none
}

// run looks when the daemon begins, as the file was read some time before, and then
// whenever something happens around it.
func (w *configWatch) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := true
	for {
		select {
		case e, open := <-w.notices.Events:
			switch {
			case !open:
				return
			case e.Name == w.path || e.Name == w.target || e.Name == w.store:
				timer.Reset(configPause)
			case !due:
				timer.Reset(besidesPause)
			}
			due = true
		case _, open := <-w.notices.Errors: // as where more came than fit
			if !open {
				return
			}
			timer.Reset(configPause)
			due = true
		case <-timer.C:
			due = false
			w.look()
		}
	}
}

// follow asks for notices of the directory, as editors put another file in the place of
// the old one, and of that which a link leads to.
func (w *configWatch) follow() error {
	err := w.notices.Add(filepath.Dir(w.path))
	if w.store != "" {
		_ = w.notices.Add(filepath.Dir(w.store)) // it need not be there
	}
	if target, bad := filepath.EvalSymlinks(w.path); bad == nil {
		w.target = target
		_ = w.notices.Add(filepath.Dir(target))
	}
	return err
}

// look tells of another content. A file that is gone may be about to come back.
func (w *configWatch) look() {
	_ = w.follow()
	now, err := contentOf(w.path)
	switch {
	case err != nil, now == w.last && w.held == "":
	case now == w.daemon.inForce().ConfigDigest && (now == w.last || now == w.held):
		w.last = now // as it was before it was held, or by an operator's word
		w.hold("")
	case now == w.daemon.inForce().ConfigDigest, w.counts(now):
		w.last = now
		w.hold("")
		select {
		case w.changed <- struct{}{}:
		default: // one is under way already
		}
	default:
		w.hold(now)
	}
}

// hold notes that a content waits for an operator's word, once; empty: none does.
func (w *configWatch) hold(content string) {
	if w.held == content {
		return
	}
	w.held = content
	var fault error
	if content != "" {
		fault = heldConfig(w.path)
		w.daemon.log.Warn("reload", "fault", fault)
	}
	w.daemon.note(fault, func(known *tool.Error) bool { return known.Message == heldConfig(w.path).Message })
}

// contentOf tells a file's content from others, as [config.Config.Digest] does.
func contentOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, config.MaxSize+1)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
