package session

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Reading says why the configuration file is read, which decides whether it counts.
type Reading int

// The reasons for reading.
const (
	AtStart    Reading = iota // a command, or a daemon that starts
	ByOperator                // an operator tells a daemon to read the file again
	ByChange                  // a daemon has noticed that the file changed
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
	case missing:
		return nil, exit.Usage("there is no configuration file "+sanitize.Text(path)+" (from "+by+")",
			"make it with toolhost config init, or name another with --config")
	}
	// A file with a problem does not count either, unless it is trusted.
	var digest string
	if c != nil {
		digest = c.Digest()
	} else if digest, _ = trust.Digest(path); digest == "" && by != "" {
		return nil, exit.With(exit.BadUsage, err)
	}
	counts, bad := s.Counts(why, digest, current)
	switch {
	case bad != nil:
		return nil, exit.With(exit.BadUsage, bad)
	case !counts && why == ByChange:
		return nil, exit.With(exit.Refused, HeldConfig(path))
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

// Counts reports whether the configuration file counts, with content of this digest. A file
// that was named counts; a file that was found counts if it is trusted, or if an operator
// reloads the file in effect. A change inside the root, which tools may have made, counts only
// if it is trusted, even in a file that was named. Current is what a daemon goes by; nil at
// the start.
func (s *Session) Counts(why Reading, digest string, current *Settings) (bool, error) {
	path, by, err := s.Flags.ConfigPath()
	if err != nil {
		return false, err
	}
	named := by != ""
	switch {
	case why == AtStart && named,
		why == ByOperator && (named || current.Config.File == path),
		why == ByChange && named && !inRoot(path, current.Root):
		return true, nil
	}
	return trustsContent(path, digest)
}

// inRoot reports whether a path, or the file that it leads to, is in the workspace.
func inRoot(path, root string) bool {
	root, _, err := protect.Resolve(root)
	if err != nil {
		return true
	}
	all, err := protect.Expand(path)
	if err != nil {
		return true
	}
	for _, at := range all {
		if protect.Within(root, at) {
			return true
		}
	}
	return false
}

// trustsContent reports whether the operator has trusted a file with content of this digest
// (toolhost trust).
//
// # Errors
//
// That of reading the list of trusted files: then the file does not count.
func trustsContent(path, digest string) (bool, error) {
	s, err := trust.Open()
	if err != nil {
		return false, nil //nolint:nilerr // without a state directory nothing was ever trusted
	}
	ok, err := s.Trusts(path, digest)
	if err != nil {
		return false, fmt.Errorf("the list of trusted files cannot be used: %w", err)
	}
	return ok, nil
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

// HeldConfig returns the error of a change that is not in effect.
func HeldConfig(path string) *tool.Error {
	return &tool.Error{
		Code:    tool.CodePermissionDenied,
		Message: sanitize.Text(path) + " is not in effect as it is now: tools, or others, may have written it",
		Hint:    "look at it, and: toolhost trust, or toolhost reload",
	}
}

// Trust remembers a file whose content the operator has written or put into effect.
func (s *Session) Trust(path, digest string) {
	store, err := trust.Open()
	if err == nil {
		err = store.Trust(path, digest)
	}
	if err != nil {
		s.Warn(&tool.Error{
			Message: sanitize.Text(path) + " could not be remembered as trusted: " + err.Error(),
			Hint:    "name it with --config",
		})
	}
}
