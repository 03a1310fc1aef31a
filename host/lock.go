package host

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Lock is a toolhost.lock, and the plugins that it pins. The file is checked before each
// start; a process that already runs goes on. If the file cannot be read, or anything in it
// is wrong, no plugin of its directories starts.
//
// Inside the root, where plugins may have written it, the file counts with content that was
// trusted ([WithTrusted], [Host.TrustLock]): the first that is read, and no other. While it has
// other content, what was read before counts, and [Status] says so.
type Lock struct {
	// File is its path.
	File string
	// Dirs are the plugin directories whose plugins it pins. None: all of them, and the
	// servers that are mounted.
	Dirs []string
	// Servers lets a lock of some directories pin the servers too.
	Servers bool
	// Required keeps plugins from running while the file is missing. A file that was
	// there once is required from then on: removing it does not remove the pins.
	Required bool
	// Found says that the file was not named: inside the root its first content does not
	// count by itself either.
	Found bool
	// Seen is called when the file is there for the first time. Nil: nothing is called.
	Seen func()
}

// WithLocks runs only plugins that match every lock for their directory. Default: none, and
// every plugin may run.
func WithLocks(locks ...Lock) Option { return deciding(func(o *operator) { o.setLocks(locks) }) }

// WithTrusted remembers in a file, from one host to the next, which content of locks inside the
// root is trusted. The file may be that of the command, trusted.json in the user's state
// directory. Default: none, and it is remembered for the process.
func WithTrusted(path string) Option {
	return func(o *options) { o.operator.trusted = trust.At(path) }
}

// TrustLock trusts the content of a lock with this SHA-256, in hexadecimal digits, which
// [WaitingLock] has.
//
// # Errors
//
// [tool.CodeInternal] if that cannot be remembered: the content goes on waiting.
func (h *Host) TrustLock(path, sha256 string) error {
	if err := h.operator.trusted.Trust(path, sha256); err != nil {
		return tool.Errorf(tool.CodeInternal, "%s is not trusted: %w", path, err)
	}
	return nil
}

// WaitingLock is a lock inside the root whose content is not trusted, so that it does not count.
type WaitingLock struct {
	File   string
	SHA256 string // of its content, in hexadecimal digits
	// InForce is the content that counts instead, as toolhost writes it; nil: nothing that it
	// pins starts.
	InForce []byte
	Error   *tool.Error
}

func (h *Host) waitingLocks() (out []WaitingLock) {
	for _, f := range h.operator.allLocks() {
		_, _ = f.current(h.operator)
		f.mu.Lock()
		if f.waits != nil {
			w := WaitingLock{File: f.File, SHA256: f.sum, Error: f.waits}
			if f.lock != nil {
				w.InForce, _ = f.lock.Bytes()
			}
			out = append(out, w)
		}
		f.mu.Unlock()
	}
	return out
}

// setLocks replaces the locks. Those that stay keep what was read of them.
func (o *operator) setLocks(locks []Lock) {
	files := make([]*lockFile, len(locks))
	for i, l := range locks {
		files[i] = &lockFile{Lock: l}
		for _, known := range o.locks {
			if known.File == l.File {
				known.mu.Lock()
				files[i].lock, files[i].read, files[i].sum, files[i].waits = known.lock, known.read, known.sum, known.waits
				known.mu.Unlock()
			}
		}
	}
	o.locks = files
}

// lockPins returns the pins of a plugin's directory; empty: those of servers.
func (o *operator) lockPins(dir string) (pluginrun.Pins, error) {
	var all allPins
	for _, f := range o.allLocks() {
		server := dir == ""
		pinned := f.Servers
		if !server {
			pinned = roster.HoldsDir(f.Dirs, dir)
		}
		if len(f.Dirs) > 0 && !pinned {
			continue
		}
		lock, err := f.current(o)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			all = append(all, lockPin{lock, f.File, server})
		}
	}
	if all == nil {
		return nil, nil //nolint:nilnil // nothing is pinned
	}
	return all, nil
}

// lockFile is a lock as it was when it was read last.
type lockFile struct {
	Lock

	mu    sync.Mutex
	seen  bool
	read  manifest.Stamp
	sum   string // of what was read last; empty: it could not be read
	lock  *lockfile.Lock
	err   error
	waits *tool.Error // the content that was read last is not trusted; nil: it counts
}

// current returns what the file pins; nil: it does not exist, and need not.
func (f *lockFile) current(o *operator) (*lockfile.Lock, error) {
	lock, appeared, err := f.load(o)
	if appeared && f.Seen != nil {
		f.Seen()
	}
	return lock, err
}

func (f *lockFile) load(o *operator) (lock *lockfile.Lock, appeared bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := manifest.StampOf(f.File)
	// What was wrong with a file may be repaired without a change of its content.
	if now != f.read || f.lock == nil || f.waits != nil {
		f.take(o, now)
	}
	if errors.Is(f.err, fs.ErrNotExist) {
		if f.Required || f.seen {
			return nil, false, missingLock(f.File)
		}
		return nil, false, nil
	}
	appeared, f.seen = !f.seen, true
	return f.lock, appeared, f.err
}

// take reads the file. Content that does not count leaves in force what was read before.
func (f *lockFile) take(o *operator, now manifest.Stamp) {
	if f.waits != nil && now == f.read && !o.trusts(f.File, f.sum) {
		return
	}
	lock, sum, err := lockfile.ReadSum(f.File)
	f.read, f.sum, f.waits = now, sum, nil
	if sum != "" {
		f.waits = o.lockWaits(f.Lock, sum, err == nil)
	}
	switch {
	case f.waits == nil:
		f.lock, f.err = lock, err
	case f.lock == nil:
		f.err = f.waits
	}
}

// lockWaits returns why the content of a lock does not count; nil: it does. What is not a lock is
// not remembered as its first content.
func (o *operator) lockWaits(l Lock, sum string, isLock bool) *tool.Error {
	counts, err := o.trusted.Counts(l.File, sum, trust.Circumstances{
		Inside: protect.Inside(o.root, l.File), Named: true, First: !l.Found && isLock,
	})
	e := tool.Errorf(tool.CodeUnavailable,
		"%s is not in effect as it is now: tools, or others, may have written it", l.File).
		At(callstage.Start).NeverSent().Because(err).Fix(remedy.TrustLock.For(l.File))
	switch {
	case err != nil:
		e.Message = fmt.Sprintf("%s is not in effect, as which content of it was trusted is not known: %v", l.File, err)
		e.OperatorHint = ""
	case counts:
		return nil
	}
	return e
}

func (o *operator) trusts(path, sum string) bool {
	ok, err := o.trusted.Trusts(path, sum)
	return ok && err == nil
}

func missingLock(file string) error {
	return tool.Errorf(tool.CodeUnavailable, "%s is missing, and without it no plugin starts that it is to pin", file).
		At(callstage.Start).NeverSent().
		Fix(remedy.RestoreLock.String())
}

// lockPin is a lock as the pins of a plugin's start, or of a server's.
type lockPin struct {
	lock   *lockfile.Lock
	file   string
	server bool
}

func (p lockPin) Listed(name string) error { return p.refusal(p.lock.CheckListed(name)) }

func (p lockPin) Binary(name, sha256 string) error {
	if p.server {
		return p.refusal(p.lock.CheckIdentity(name, sha256))
	}
	return p.refusal(p.lock.CheckBinary(name, sha256))
}

func (p lockPin) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(p.server, sha256, about)
	if err != nil {
		return err
	}
	return p.refusal(p.lock.Check(name, e))
}

// Needs implements [pluginrun.NeedsPins].
func (p lockPin) Needs(name string) (*tool.Needs, bool) { return p.lock.Needs(name) }

// refusal adds to an error which lock refuses.
func (p lockPin) refusal(err error) error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	e.OperatorHint, e.Hint = e.Advice()+" (the pins are those of "+p.file+")", ""
	return &e
}

// allPins are pins that all have to agree.
type allPins []pluginrun.Pins

func (all allPins) Listed(name string) error {
	return all.each(func(p pluginrun.Pins) error { return p.Listed(name) })
}

func (all allPins) Binary(name, sha256 string) error {
	return all.each(func(p pluginrun.Pins) error { return p.Binary(name, sha256) })
}

func (all allPins) Described(name, sha256 string, about wire.Description) error {
	return all.each(func(p pluginrun.Pins) error { return p.Described(name, sha256, about) })
}

// Needs implements [pluginrun.NeedsPins]: what all of them accept that say so.
func (all allPins) Needs(name string) (out *tool.Needs, ok bool) {
	for _, p := range all {
		if p, is := p.(pluginrun.NeedsPins); is {
			if n, said := p.Needs(name); said {
				out, ok = need.Within(out, n), true
			}
		}
	}
	return out, ok
}

func (all allPins) each(check func(pluginrun.Pins) error) error {
	for _, p := range all {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}

// entryOf returns what is pinned of a plugin, or of a server, whose identity has the digest.
func entryOf(server bool, sha256 string, about wire.Description) (lockfile.Entry, error) {
	definitions, err := lockfile.Digest(about.Tools)
	e := lockfile.Entry{SHA256: sha256, Definitions: definitions, Version: about.Version, Needs: lockfile.NeedsText(about.Needs)}
	if server && err == nil {
		e.SHA256, e.Identity, e.Needs = "", sha256, ""
		e.Tools, err = lockfile.Tools(about.Tools)
	}
	return e, err
}
