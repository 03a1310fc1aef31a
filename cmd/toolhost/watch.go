package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/config"
)

// A configuration file has to be left alone for a while before it is read, as an editor
// writes it in several steps. What happens beside it, as calls that are put on record
// there, may be what it is linked to, and puts nothing off.
const (
	configPause  = 100 * time.Millisecond
	besidesPause = time.Second
)

// watchConfig tells, as a hang-up does, when the configuration file has another content
// than when it was read last. The function that comes back ends that.
func (a *app) watchConfig(changed chan<- os.Signal, log hclog.Logger) (stop func()) {
	path, _, err := a.configPath()
	var notices *fsnotify.Watcher
	if err == nil {
		notices, err = fsnotify.NewWatcher()
	}
	if err != nil {
		log.Warn("changes of the configuration file are not noticed: send SIGHUP", "error", err)
		return func() {}
	}
	w := configWatch{path: path, notices: notices, changed: changed, last: a.configured().Digest()}
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
	notices *fsnotify.Watcher
	changed chan<- os.Signal
	last    string // the content that was told of
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
			case e.Name == w.path || e.Name == w.target:
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
	if err != nil || now == w.last {
		return
	}
	w.last = now
	select {
	case w.changed <- syscall.SIGHUP:
	default: // one is under way already
	}
}

// contentOf tells a file's content from others, as [config.Config.Digest] does.
func contentOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file: %w", path, err)
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
