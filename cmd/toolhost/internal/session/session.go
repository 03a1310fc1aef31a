// Package session is what commands share: the streams, the global flags, the settings that
// follow from flags and configuration, and the way to a daemon or to a host of their own.
// Begin with [New].
package session

import (
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Session is one run of the command.
type Session struct {
	Stdin    io.Reader
	Out, Err *output.Writer
	Flags    *Flags
	// OpenTerminal opens the terminal of the process.
	OpenTerminal func() (terminal.Terminal, error)
	// Quiet suppresses the note about a file that is not trusted.
	Quiet bool

	settings *Settings    // nil until they are known
	unread   unread       // zero: the configuration file, if there is one, counts
	log      hclog.Logger // nil until it is needed
	locks    pins.Keeper
}

// New returns a session with the streams of the process.
func New(stdin io.Reader, stdout, stderr io.Writer) *Session {
	return &Session{
		Stdin: stdin, Out: output.New(stdout), Err: output.New(stderr),
		Flags: &Flags{}, OpenTerminal: terminal.Open,
	}
}

// Configure reads the configuration file, which from then on decides what flags leave open.
// A command that does not read it goes by flags and defaults alone. Once says that the
// command ends with its work.
//
// # Errors
//
// Those of [Session.ReadConfig]. A command may go on after one, if a daemon serves it that has
// an earlier content of the file in effect; a host of its own is refused with the same error.
func (s *Session) Configure(once bool) error {
	c, err := s.ReadConfig(AtStart, nil)
	if err != nil {
		if path, _, bad := s.Flags.ConfigPath(); bad == nil {
			s.unread = unread{path, err}
		}
		return err
	}
	s.settings = newSettings(s.Flags, c, once)
	return nil
}

// Settings returns what the command goes by.
func (s *Session) Settings() *Settings {
	if s.settings == nil {
		return defaultSettings(s.Flags)
	}
	return s.settings
}

// Logger returns the logger, which writes to standard error: standard output belongs to
// results.
func (s *Session) Logger() (hclog.Logger, error) {
	level := s.Settings().LogLevel
	if err := checkLogLevel(level); err != nil {
		return nil, err
	}
	if s.log == nil { // there is one logger, so that its level can be changed
		s.log = hclog.New(&hclog.LoggerOptions{Name: "toolhost", Level: hclog.LevelFromString(level), Output: s.Err})
	}
	return s.log, nil
}

// Warn prints a problem that does not keep the rest from working.
func (s *Session) Warn(e *tool.Error) {
	level := s.Settings().LogLevel
	s.Err.Warning(e, level == "debug" || level == "trace")
}

// Notef prints a line about who does the work, unless logging is off.
func (s *Session) Notef(format string, args ...any) {
	if s.Settings().LogLevel != "off" {
		s.Err.Printf("toolhost: %s\n", sanitize.Line(fmt.Sprintf(format, args...), 0))
	}
}

// Approver returns an approver that asks at the terminal, and a function that closes the
// terminal. It is nil if there is no terminal, so that the host refuses, and with --yes, which
// answers in advance.
func (s *Session) Approver(yes bool) (policy.Approver, func()) {
	if yes {
		return nil, func() {}
	}
	t, err := s.OpenTerminal()
	if err != nil {
		return nil, func() {}
	}
	return terminal.Approver{Terminal: t, Colored: output.ColorWelcome()}, func() { _ = t.Close() }
}
