package session

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
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
	r, err := s.daemon(ctx, n)
	if err != nil {
		s.Notef("%s", tool.AsError(err).Message)
	}
	return r
}

// daemon is Daemon that fails for a caller of another user's daemon who cannot use it.
func (s *Session) daemon(ctx context.Context, n Needs) (*Remote, error) {
	path, err := s.Settings().SocketPath()
	if err != nil || path == "" || s.Flags.NoDaemon || s.Settings().Dirs.Apart {
		return nil, nil //nolint:nilerr,nilnil // it is to work without one
	}
	r, err := s.find(ctx, path, n)
	switch named := s.named(); {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
	case named != "":
		return nil, tool.Errorf(tool.CodeUnavailable,
			"this user is the caller %s of a daemon by the configuration, and cannot use it: %w", named, err).
			Try("have the daemon started, leave out the flags that differ, or add --no-daemon to work without its grants and its record")
	case errors.Is(err, control.ErrNoDaemon) && s.Flags.Socket == "":
	default:
		s.Notef("working without a daemon: %s", tool.AsError(err).Message)
	}
	return nil, nil //nolint:nilerr,nilnil // it is to work without one
}

// find connects to the daemon on a socket.
//
// # Errors
//
// Why this command cannot use it, as [control.ErrNoDaemon]: none runs.
func (s *Session) find(ctx context.Context, path string, n Needs) (*Remote, error) {
	c, err := control.Dial(ctx, path, control.Foreign(s.named() != ""))
	if errors.Is(err, control.ErrNoDaemon) {
		return nil, fmt.Errorf("%w on %s", err, sanitize.Text(path))
	}
	if err != nil {
		return nil, err
	}
	state := c.State()
	if why := s.unlike(state, s.Settings(), n); why != "" {
		return nil, fmt.Errorf("the one with pid %d is not used: %s", state.PID, why)
	}
	s.noteDaemon(state)
	s.noteUnread()
	return &Remote{c, s.Settings().Dirs.Paths}, nil
}

// named returns the caller of another user's daemon that the configuration says this user is;
// empty: none.
func (s *Session) named() string {
	name, _ := setup.Named(s.Settings().Config, os.Geteuid())
	return name
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
	}
	unused := s.unread
	if c := t.Config; c.File != "" && c.Digest() == daemon.Unapplied { // which its faults tell of
		unused, t = unread{path: c.File}, t.With(config.Default())
	}
	mine, err := t.Identity()
	if err != nil {
		return err.Error()
	}
	mine = unused.asIn(daemon, mine, s.Flags)
	if s.named() != "" {
		mine = s.Flags.otherwise(mine, daemon.Identity)
	}
	return daemon.Identity.Difference(mine)
}

// otherwise returns an identity that is another's in all that no flag gives. It is that of a caller of a
// shared daemon, who has directories and perhaps a copy of the configuration of its own.
func (f *Flags) otherwise(mine, other control.Identity) control.Identity {
	if f.Given("root") {
		other.Root = mine.Root
	}
	if f.Given("plugin-dir") {
		other.PluginDirs = mine.PluginDirs
	}
	if f.Given("mcp-config") {
		other.MCPConfigs = mine.MCPConfigs
	}
	return other
}
