package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/installed"
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
	dir   *installed.Dir
	off   bool   // nothing is pinned that was not before
	keep  string // the lock that has what is installed, and is not written
	// files are those that exist, the one to go by first, and fresh those that are to be made.
	files, fresh []string
}

// openInstallLock finds the locks that apply: the user's, and the project's if it has one, if pin
// asks for it, or if its configuration names plugins.
func openInstallLock(s *session.Session, no, pin bool) (*installLock, error) {
	rules, err := s.LockRules(s.Settings())
	if err != nil {
		return nil, err
	}
	l := &installLock{rules: rules, s: s, off: no || rules.Off}
	c := s.Settings().Config
	pin = pin || c.File != "" && len(c.Plugins)+len(c.PluginDirs) > 0
	for _, one := range slices.Concat([]string{rules.Own}, lockFiles(rules, s.Settings().Dirs.Installed), []string{rules.User}) {
		if rules.Off && one != rules.User || slices.Contains(l.files, one) || slices.Contains(l.fresh, one) {
			continue
		}
		_, err := s.ReadLock(one)
		switch {
		case err == nil && one != rules.User && !counts(rules, one): // it was merely found
			return nil, exit.Usage(sanitize.Text(one)+" is not trusted as it is: others may have written it",
				"look at it, and: toolhost trust; or name its configuration with --config")
		case err == nil:
			l.files = append(l.files, one)
		case exit.Status(err) == exit.Refused:
			return nil, err
		case !errors.Is(err, fs.ErrNotExist):
			return nil, exit.With(exit.BadUsage, err)
		case requires(rules, one) && (!pin || one != rules.Own || c.Lock != ""):
			return nil, exit.Usage("the lock "+sanitize.Text(one)+" is required, and is not there", "restore it, or write it: toolhost plugins lock")
		case !l.off && (one == rules.User || one == rules.Own && pin):
			l.fresh = append(l.fresh, one)
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
	return len(l.fresh) == 0
}

// lockChange is a change of locks that was written.
type lockChange struct {
	files []string
	undo  func() error
}

// write pins the files of a package.
func (l *installLock) write(p installer.Plan, m manifest) (lockChange, error) {
	return l.change(func(lock *lockfile.Lock) error { return pinPackage(lock, p.Plugin, p.Source, m) })
}

func pinPackage(lock *lockfile.Lock, name, source string, m manifest) error {
	definitions, err := lockfile.Digest(m.Definitions)
	if err != nil {
		return err
	}
	files := map[string]string{}
	for at, b := range m.Platforms {
		files[at] = b.SHA256()
	}
	lock.Pin(name, lockfile.Entry{Definitions: definitions, Version: m.Version, Source: source}, files, lockfile.NeedsText(m.Needs))
	return nil
}

// change changes all locks that apply, and makes those that are wanted.
func (l *installLock) change(f func(*lockfile.Lock) error) (out lockChange, err error) {
	var undo []func() error
	out.undo = func() (err error) {
		for _, back := range slices.Backward(undo) {
			err = errors.Join(err, back())
		}
		return err
	}
	for _, file := range slices.Concat(l.files, l.fresh) {
		if file == l.keep {
			continue
		}
		now, back, err := l.open(file)
		if err == nil {
			err = f(now)
		}
		if err == nil {
			undo = append(undo, back)
			err = l.s.WriteLock(now, file)
		}
		if err != nil {
			return out, errors.Join(err, out.undo())
		}
		l.record(file)
		out.files = append(out.files, file)
	}
	l.files, l.fresh = append(l.files, l.fresh...), nil
	return out, nil
}

// open returns a lock as it is, or as it is made, and what brings that back.
func (l *installLock) open(file string) (now *lockfile.Lock, back func() error, err error) {
	back = func() error { return os.Remove(file) }
	switch {
	case !slices.Contains(l.fresh, file):
		before, err := l.s.ReadLock(file)
		now, bad := l.s.ReadLock(file)
		return now, func() error { return l.s.WriteLock(before, file) }, errors.Join(err, bad)
	case file != l.rules.User:
		return &lockfile.Lock{Others: true}, back, nil
	}
	now = &lockfile.Lock{} // nothing else belongs there, so the lock has what --no-lock had left out
	all, err := l.dir.Plugins()
	for _, p := range all {
		v, ok := p.Current()
		if !ok {
			continue
		}
		signed, bad := l.dir.Signed(v)
		if bad == nil {
			bad = pinPackage(now, v.Name, v.Source, signed.Manifest)
		}
		err = errors.Join(err, bad)
	}
	return now, back, err
}

// record notes what a lock pins, as toolhost plugins lock does.
func (l *installLock) record(file string) {
	dirs := l.s.Settings().Dirs.Paths
	if file == l.rules.User {
		dirs = []string{l.dir.PluginDir()}
	}
	if _, err := pins.Pin(file, l.rules.User, dirs, pins.Also); err != nil {
		l.s.Warn(&tool.Error{Message: "other processes do not know that the lock is required: " + err.Error(), Hint: "say lock: required in the configuration"})
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
