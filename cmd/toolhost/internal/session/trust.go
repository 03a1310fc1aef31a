package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Reading says why the configuration file is read, which decides whether it counts.
type Reading int

// The reasons for reading.
const (
	AtStart    Reading = iota // a command, or a daemon that starts
	ByOperator                // an operator tells a daemon to read the file again
	ByChange                  // a daemon has noticed that the file changed
	ByCommand                 // a command that has changed something else
	ToShow                    // to show it, which trusts nothing
)

// ReadConfig reads the configuration file and checks it. It returns the configuration of an
// empty file if none is named and the default file does not exist or does not count. Current
// is what a daemon goes by; nil at the start.
//
// # Errors
//
// [*exit.Error] for everything that is wrong with the file, and for a change that waits for
// the operator.
func (s *Session) ReadConfig(why Reading, current *Settings) (*config.Config, error) {
	path, by, err := s.Flags.ConfigPath()
	if err != nil {
		return nil, err
	}
	c, err := setup.Load(path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && by == "":
		return config.Default(), nil
	case err != nil && by != "" && !missing:
		return nil, exit.With(exit.BadUsage, err)
	case missing:
		return nil, exit.Usage("there is no configuration file "+sanitize.Text(path)+" (from "+by+")",
			"make it with toolhost config init, or name another with --config")
	}
	// A file with a problem does not count either, unless it is trusted.
	var digest string
	if c != nil {
		digest = c.Digest()
	} else {
		digest, _ = trust.Digest(path)
	}
	named := by != "" || current != nil && current.Config.File == path
	counts, bad := s.Counts(why, digest, s.rootOf(c, current), current)
	switch {
	case why == ToShow && err == nil:
		return c, nil
	case bad != nil:
		return nil, exit.With(exit.BadUsage, bad)
	case !counts && why == ByCommand:
		return current.Config, nil
	case !counts && (named || why == ByChange):
		return nil, exit.With(exit.Refused, Held(path))
	case !counts:
		if why == AtStart {
			s.unread = unread{path: path}
		}
		s.noteUntrusted(path)
		return config.Default(), nil
	case err != nil:
		return nil, exit.With(exit.BadUsage, err)
	}
	if s.Flags.Developed != "" { // it is neither locked nor signed, at each reload
		c.Lock, c.Trust = config.LockOff, config.Trust{}
	}
	return c, nil
}

// rootOf returns the workspace that goes with a configuration; nil: it cannot be read.
func (s *Session) rootOf(c *config.Config, current *Settings) string {
	switch {
	case current != nil:
		return current.Root
	case c != nil && c.Root != "" && !s.Flags.Given("root"):
		return c.Root
	}
	return s.Flags.Root
}

// Counts reports whether the configuration file counts, with content of this digest, if this is
// the root. Outside of the root a file counts that was named, or that an operator reloads. Any
// other counts with the content that is trusted: that of a named file is from its first use on.
// Current is what a daemon goes by; nil at the start.
func (s *Session) Counts(why Reading, digest, root string, current *Settings) (bool, error) {
	path, by, err := s.Flags.ConfigPath()
	if err != nil {
		return false, err
	}
	named := by != ""
	counts, err := store().Counts(path, digest, trust.Circumstances{
		Inside: protect.Inside(root, path), First: named && why == AtStart,
		Named: named || why == ByOperator && current.Config.File == path,
	})
	return counts, unusable(err)
}

// store returns the list of what is trusted. Without a place for it, this process remembers it.
func store() trust.Store {
	s, err := trust.Open()
	if err != nil {
		return trust.Memory()
	}
	return s
}

func unusable(err error) error {
	if err != nil {
		return fmt.Errorf("which files are trusted is not known: %w", err)
	}
	return nil
}

// trustsContent reports whether the operator has trusted a file with content of this digest
// (toolhost trust).
//
// # Errors
//
// That of reading the list of trusted files: then the file does not count.
func trustsContent(path, digest string) (bool, error) {
	ok, err := store().Trusts(path, digest)
	return ok, unusable(err)
}

// NoteIfUntrusted says that commands do not go by a configuration file that is looked at.
func (s *Session) NoteIfUntrusted(path, by string) {
	if by != "" {
		return
	}
	digest, err := trust.Digest(path)
	if err == nil {
		var ok bool
		if ok, err = trustsContent(path, digest); ok && err == nil {
			return
		}
	}
	s.noteUntrusted(path)
}

func (s *Session) noteUntrusted(path string) {
	switch {
	case s.Quiet:
	case s.daemonReadIt(path):
		s.Say(sanitize.Text(path) + " is not trusted as it is, so the daemon goes by what it read before " +
			"(look at it, and: toolhost trust)")
	default:
		s.Say(sanitize.Text(path) + " is not trusted as it is, so the defaults hold " +
			"(look at it, and: toolhost trust; or name it with --config)")
	}
}

// Held returns the error of a file whose content is not in effect.
func Held(path string) *tool.Error {
	return tool.Errorf(tool.CodePermissionDenied, "%s", heldText(path)).
		Try("look at it, and: toolhost trust " + sanitize.Text(path) + ", or toolhost reload")
}

func heldText(path string) string {
	return sanitize.Text(path) + " is not in effect as it is now: tools, or others, may have written it"
}

// Trust remembers a file whose content the operator has written or put into effect.
func (s *Session) Trust(path, digest string) {
	if err := store().Trust(path, digest); err != nil {
		s.Warn(&tool.Error{
			Message: sanitize.Text(path) + " could not be remembered as trusted: " + err.Error(),
			Hint:    "mend that, and: toolhost trust",
		})
	}
}

// Accept is Trust that fails: for what waits in a daemon.
func (s *Session) Accept(path, digest string) error {
	if err := store().Trust(path, digest); err != nil {
		return fmt.Errorf("%s is not trusted: %w", sanitize.Text(path), err)
	}
	return nil
}

// ReadLock reads a lock that a command goes by, or changes.
//
// # Errors
//
// Those of [lockfile.Read]; [*exit.Error] if its content does not count.
func (s *Session) ReadLock(file string) (*lockfile.Lock, error) {
	l, sum, err := lockfile.ReadSum(file)
	if err != nil { // what is broken gives nothing
		return nil, err
	}
	t, first := s.Settings(), store().Path() == ""
	if path, _, bad := s.Flags.ConfigPath(); bad == nil {
		own, bad := pins.OwnLock(t.Config, path)
		first = first || bad == nil && own.File == file && !own.Found
	}
	counts, bad := store().Counts(file, sum, trust.Circumstances{Inside: protect.Inside(t.Root, file), Named: true, First: first})
	switch {
	case bad != nil:
		return nil, exit.With(exit.BadUsage, unusable(bad))
	case !counts:
		return nil, exit.With(exit.Refused, Held(file))
	}
	return l, nil
}

// WriteLock writes a lock, whose content counts from then on.
//
// # Errors
//
// Those of [lockfile.Lock.Write]; a plain one if the lock was written and waits to be trusted.
func (s *Session) WriteLock(l *lockfile.Lock, file string) error {
	content, err := l.Bytes()
	if user, bad := s.Settings().UserLock(); err == nil && bad == nil && user == file { // nothing may be installed yet
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = l.Write(file)
	}
	if err == nil {
		err = s.Accept(file, trust.Sum(content))
	}
	return err
}
