// Package session is what commands share: the streams, the global flags, the settings that
// follow from flags and configuration, and the way to a daemon or to a host of their own.
// Begin with [New].
package session

import (
	"context"
	"io"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host/policy"
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
	// Serving says that the command is a daemon, whose log people read later.
	Serving bool
	// Written counts the lines of calls that were put on record.
	Written Written

	did      []string  // for the record
	settings *Settings // nil until they are known
	unread   unread    // zero: the configuration file, if there is one, counts
	log      *log      // nil until it is needed
	locks    pins.Keeper
}

// New returns a session with the streams of the process.
func New(stdin io.Reader, stdout, stderr io.Writer) *Session {
	return &Session{
		Stdin: stdin, Out: output.New(stdout), Err: output.New(stderr),
		Flags: &Flags{}, OpenTerminal: terminal.Open,
	}
}

// Answer prints what a command has done: v as JSON with --json, else a formatted text.
func (s *Session) Answer(v any, format string, args ...any) error {
	if s.Flags.JSON {
		return s.Out.JSON(v)
	}
	s.Out.Printf(format, args...)
	return nil
}

// Silent returns a session with the same flags that prints nothing.
func (s *Session) Silent() *Session {
	out := New(s.Stdin, io.Discard, io.Discard)
	out.Flags, out.OpenTerminal, out.Quiet = s.Flags, s.OpenTerminal, true
	return out
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
	if err := s.Flags.resolvePlugin(); err != nil {
		return err
	}
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

// Confirm shows a text at the terminal and asks. Without a terminal it prints the text and returns unasked, and for an
// answer that is not yes refused.
func (s *Session) Confirm(ctx context.Context, shown, question string, unasked, refused error) error {
	t, err := s.OpenTerminal()
	if err != nil {
		s.Err.Printf("%s", shown)
		return unasked
	}
	defer func() { _ = t.Close() }()
	yes, err := terminal.Confirm(ctx, t, shown, question)
	if err != nil || yes {
		return err
	}
	return refused
}

// Asker returns an asker that puts the questions of tools to the person at the terminal, and a
// function that closes the terminal.
func (s *Session) Asker() (tool.Asker, func()) {
	a := &terminal.Asker{Open: s.OpenTerminal}
	return a.Ask, a.Close
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
