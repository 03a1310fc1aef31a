package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type manifest = pluginpackage.Manifest

// installLock has the locks that pin what is installed.
type installLock struct {
	rules pins.Rules
	s     *session.Session
	off   bool // nothing is pinned
	keep  bool // it has what is installed, and is not written
	// files are those that exist, the one that is written first; none: there is no lock yet.
	files []string
}

// openInstallLock finds the locks that apply.
func openInstallLock(s *session.Session, no bool) (*installLock, error) {
	rules, err := s.LockRules(s.Settings())
	if err != nil {
		return nil, err
	}
	l := &installLock{rules: rules, s: s, off: no || rules.Off}
	if rules.Off {
		return l, nil
	}
	at := s.Settings().Dirs.Installed
	for _, one := range append([]string{rules.File}, lockFiles(rules, at)...) {
		_, err := s.ReadLock(one)
		switch {
		case slices.Contains(l.files, one):
		case err == nil && !counts(rules, one): // it was merely found
			return nil, exit.Usage(sanitize.Text(one)+" is not trusted as it is: others may have written it",
				"look at it, and: toolhost trust; or name its configuration with --config")
		case err == nil:
			l.files = append(l.files, one)
		case exit.Status(err) == exit.Refused:
			return nil, err
		case !errors.Is(err, fs.ErrNotExist):
			return nil, exit.With(exit.BadUsage, err)
		case requires(rules, one):
			return nil, exit.Usage("the lock "+sanitize.Text(one)+" is required, and is not there", "restore it, or write it: toolhost plugins lock")
		}
	}
	if no && len(l.files) > 0 {
		return nil, exit.Usage("--no-lock: "+sanitize.Text(l.files[0])+" pins what runs, so that a plugin that it does not pin is refused",
			"leave --no-lock out, or unpin all plugins: toolhost plugins lock --off")
	}
	return l, nil
}

// lockFiles are the locks with which plugins of a directory have to agree.
func lockFiles(rules pins.Rules, dir string) (out []string) {
	for _, l := range rules.Locks {
		if len(l.Dirs) == 0 || slices.Contains(l.Dirs, dir) {
			out = append(out, l.File)
		}
	}
	return out
}

// counts reports whether a lock that exists is in effect.
func counts(rules pins.Rules, file string) bool {
	return slices.ContainsFunc(rules.Locks, func(l host.Lock) bool { return l.File == file })
}

func requires(rules pins.Rules, file string) bool {
	return slices.ContainsFunc(rules.Locks, func(l host.Lock) bool { return l.File == file && l.Required })
}

// pinned is what the lock has; nil: there is none.
func (l *installLock) pinned() *lockfile.Lock {
	if l.off || len(l.files) == 0 {
		return nil
	}
	lock, err := l.s.ReadLock(l.files[0])
	if err != nil { // it was read before, and is read again before it is written
		return nil
	}
	return lock
}

// has reports whether all locks pin the file of a plan, and its source.
func (l *installLock) has(p installer.Plan) bool {
	for _, file := range l.files {
		lock, err := l.s.ReadLock(file)
		if err != nil || lock.Plugins[p.Plugin].SHA256 != p.SHA256 || lock.Plugins[p.Plugin].Source != p.Source {
			return false
		}
	}
	return l.off || len(l.files) > 0
}

// lockChange is a change of locks that was written.
type lockChange struct {
	files  []string
	others int // plugins that a new lock pins besides
	undo   func() error
}

// write pins the files of a package. If there is no lock, it makes one of what is there.
func (l *installLock) write(ctx context.Context, s *session.Session, p installer.Plan, m manifest) (lockChange, error) {
	definitions, err := lockfile.Digest(m.Definitions)
	if err != nil {
		return lockChange{}, err
	}
	files := map[string]string{}
	for at, b := range m.Platforms {
		files[at] = b.SHA256()
	}
	e := lockfile.Entry{Definitions: definitions, Version: m.Version, Source: p.Source}
	needs := lockfile.NeedsText(m.Needs)
	return l.change(ctx, s, func(lock *lockfile.Lock) { lock.Pin(p.Plugin, e, files, needs) })
}

// change changes all locks that apply, or makes one.
func (l *installLock) change(ctx context.Context, s *session.Session, f func(*lockfile.Lock)) (out lockChange, err error) {
	var undo []func() error
	out.undo = func() (err error) {
		for _, back := range slices.Backward(undo) {
			err = errors.Join(err, back())
		}
		return err
	}
	if l.off || l.keep {
		return out, nil
	}
	if len(l.files) == 0 {
		lock, err := newLock(ctx, s)
		if err != nil {
			return out, err
		}
		out.others = len(lock.Plugins)
		f(lock)
		if err := s.WriteLock(lock, l.rules.File); err != nil {
			return out, err
		}
		undo = append(undo, func() error { return os.Remove(l.rules.File) })
		l.files = []string{l.rules.File}
		out.files = l.files
		l.record(s)
		return out, nil
	}
	for _, file := range l.files {
		before, err := s.ReadLock(file)
		now, bad := s.ReadLock(file)
		if err := errors.Join(err, bad); err != nil {
			return out, errors.Join(err, out.undo())
		}
		f(now)
		undo = append(undo, func() error { return s.WriteLock(before, file) })
		if err := s.WriteLock(now, file); err != nil {
			return out, errors.Join(err, out.undo())
		}
	}
	out.files = l.files
	l.record(s)
	return out, nil
}

// record notes by which lock the directories are pinned, as toolhost plugins lock does.
func (l *installLock) record(s *session.Session) {
	if _, err := pins.Pin(l.rules.File, s.Settings().Dirs.Paths); err != nil {
		s.Warn(&tool.Error{Message: "other processes do not know that the lock is required: " + err.Error(), Hint: "say lock: required in the configuration"})
	}
}

// newLock returns a lock that pins the plugins that are there. They are started for that.
func newLock(ctx context.Context, s *session.Session) (*lockfile.Lock, error) {
	found, err := inspect(ctx, s, nil, session.Needs{})
	if err != nil {
		return nil, err
	}
	now, failed := found.pinned(nil)
	for _, f := range failed {
		s.Warn(&tool.Error{Plugin: f.Plugin, Message: "it did not start, so that the new lock does not pin it", Hint: "mend it, and: toolhost plugins lock"})
	}
	if wanting := found.wanting(now); len(wanting) > 0 {
		var names []string
		for _, n := range wanting {
			names = append(names, n.Plugin)
		}
		return nil, tool.Errorf(tool.CodeApprovalRequired,
			"there is no lock yet, and these plugins need more than was accepted: %s", strings.Join(names, ", ")).
			Try("make it first: toolhost plugins lock; or add --no-lock")
	}
	return now, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
