package session

import (
	"context"
	"errors"
	"os"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Remote is a running daemon.
type Remote struct {
	*control.Client
	dirs []string
}

var _ Backend = (*Remote)(nil)

// Len implements [Backend].
func (r *Remote) Len() int { return r.State().Tools }

// Plugins implements [Backend].
func (r *Remote) Plugins() []plugin.Status { return r.State().Plugins }

// Skipped implements [Backend].
func (r *Remote) Skipped() []plugin.Skipped { return r.State().Skipped }

// Leaving implements [Backend].
func (r *Remote) Leaving() []plugin.Status { return r.State().Leaving }

// Faults implements [Backend].
func (r *Remote) Faults() []*tool.Error { return r.State().Faults }

// Sandbox implements [Backend].
func (r *Remote) Sandbox(ctx context.Context, name string) (*plugin.SandboxStatus, error) {
	s, err := r.Client.Sandbox(ctx, name)
	if tool.CodeOf(err) == tool.CodePermissionDenied {
		return nil, nil //nolint:nilnil // as documented
	}
	return s, err
}

// Dirs implements [Backend].
func (r *Remote) Dirs() []string { return r.dirs }

// Close implements [Backend]: the daemon goes on.
func (r *Remote) Close(context.Context) error { return nil }

// Daemon returns the running daemon, if there is one that has everything in common with this
// command; else nil. It says why it uses none, and on a terminal, once, which it uses.
func (s *Session) Daemon(ctx context.Context, n Needs) *Remote {
	t := s.Settings()
	path, err := t.SocketPath()
	if err != nil || path == "" || s.Flags.NoDaemon || t.Dirs.Apart {
		return nil
	}
	_, named := setup.Named(t.Config, os.Geteuid()) // by the configuration of another user's daemon
	c, err := control.Dial(ctx, path, control.Foreign(named))
	if errors.Is(err, control.ErrNoDaemon) {
		if s.Flags.Socket != "" {
			s.Notef("no daemon is running on %s: working without one", path)
		}
		return nil
	}
	if err != nil {
		if ctx.Err() == nil {
			s.Notef("working without a daemon: %s", tool.AsError(err).Message)
		}
		return nil
	}
	state := c.State()
	if why := s.unlike(state, t, n); why != "" {
		s.Notef("not using the daemon (pid %d): %s", state.PID, why)
		return nil
	}
	s.noteDaemon(state)
	s.noteUnread()
	return &Remote{c, t.Dirs.Paths}
}

// ReloadDaemon makes the daemon, if there is one, try again what it refused before. It warns of
// an error, which the daemon logs too.
func (s *Session) ReloadDaemon(ctx context.Context) {
	if d := s.Daemon(ctx, Needs{}); d != nil {
		if err := d.Refresh(ctx); err != nil {
			s.Warn(tool.AsError(err))
		}
	}
}

// Unlike says what keeps this command from using a daemon; empty if nothing does.
func (s *Session) Unlike(daemon control.State) string { return s.unlike(daemon, s.Settings(), Needs{}) }

// unlike says what keeps this command from using a daemon; empty if nothing does.
func (s *Session) unlike(daemon control.State, t *Settings, n Needs) string {
	switch {
	case daemon.Draining:
		return "it is ending"
	case n.Audit != "":
		return "--audit is for a host of this command's own"
	case s.Flags.Given("carrier"):
		return "--carrier is for a host of this command's own"
	}
	mine, err := t.Identity()
	if err != nil {
		return err.Error()
	}
	return daemon.Identity.Difference(s.unread.asIn(daemon, mine, s.Flags))
}
