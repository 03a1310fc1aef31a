package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Needs are what a command needs of a host of its own.
type Needs struct {
	// Options are added to those of the settings, and Hooks are told of calls.
	Options []host.Option
	Hooks   policy.Hooks
	// Record records calls in the audit log, which is Audit if that is not empty: the value
	// of the flag. A command with that flag does not use a daemon.
	Record bool
	Audit  string
	// Daemon says why a host of the command's own will not do; empty: it will.
	Daemon string
	// Uncached starts every plugin, whatever the cache remembers of it.
	Uncached bool
	// Trace is a plugin of which it is recorded what it uses; nil: none is.
	Trace *Traced
	// Writes is a lock that the command writes once the plugins have ended, and so need not be
	// protected from being made before.
	Writes string
	// Shown is the plugin whose faults the command shows itself.
	Shown string
	// Called is the plugin whose tool is called: the error of the call says why it is refused.
	Called string
}

// Traced is a plugin, or an MCP server, of which it is recorded what it uses. No other one is
// started, and what is remembered of plugins from one command to the next stays as it is.
type Traced struct {
	Name string
	By   *observe.Trace
}

// settings completes how a plugin is run.
func (t *Traced) settings(of setup.Settings) func(name string, s *plugin.Settings) {
	return func(name string, s *plugin.Settings) {
		if of != nil {
			of.Apply(name, s)
		}
		s.Enabled = s.Enabled && name == t.Name
		s.Trace = t.By
	}
}

// server returns of a set of servers that which is traced.
func (t *Traced) server(of *servers.Set) *servers.Set {
	out := &servers.Set{}
	if of != nil {
		if one, ok := of.Get(t.Name); ok {
			one.Trace = t.By
			out.All = append(out.All, one)
		}
	}
	return out
}

// Use opens a client, warns of plugins that cannot be used, runs f, and closes the client.
func (s *Session) Use(ctx context.Context, n Needs, f func(*control.Client) error) error {
	c, err := s.Open(ctx, n)
	if err != nil {
		return err
	}
	state := c.State()
	if p, there := Status(state.Plugins, n.Called); there && p.State == plugin.Refused {
		n.Shown = n.Called
	}
	s.WarnOf(state.Faults, state.Plugins, n.Shown)
	return errors.Join(f(c), c.Close(ctx))
}

// Open returns a client of the daemon, if one runs that has everything in common with this command, else
// of a host of the command's own.
func (s *Session) Open(ctx context.Context, n Needs) (*control.Client, error) {
	if _, err := s.Logger(); err != nil { // the flag is checked in either case
		return nil, err
	}
	if c, err := s.daemon(ctx, n); c != nil || err != nil {
		return c, err
	}
	if n.Daemon != "" {
		return nil, s.NoDaemon(n.Daemon)
	}
	l, err := s.OpenLocal(ctx, n)
	if err != nil {
		return nil, err
	}
	return l.Client(), nil
}

// Daemon returns the running daemon, if there is one that has everything in common with this
// command; else nil. It says why it uses none, and on a terminal, once, which it uses.
func (s *Session) Daemon(ctx context.Context) *control.Client {
	r, err := s.daemon(ctx, Needs{})
	if err != nil {
		s.Notef("%s", tool.AsError(err).Message)
	}
	return r
}

// daemon is Daemon that fails for a caller of another user's daemon who cannot use it.
func (s *Session) daemon(ctx context.Context, n Needs) (*control.Client, error) {
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
func (s *Session) find(ctx context.Context, path string, n Needs) (*control.Client, error) {
	c, err := control.Dial(ctx, path, s.named() != "")
	if errors.Is(err, control.ErrNoDaemon) {
		return nil, fmt.Errorf("%w on %s", err, sanitize.Text(path))
	}
	if err != nil {
		return nil, err
	}
	state := c.State()
	if why := s.Unlike(state, n.Audit); why != "" {
		return nil, fmt.Errorf("the one with pid %d is not used: %s", state.PID, why)
	}
	s.noteDaemon(state)
	if state.Starting {
		s.Notef("the daemon (pid %d) is starting, and does not have all tools yet", state.PID)
	}
	s.noteUnread()
	c.Dirs = s.Settings().Dirs.Paths
	return c, nil
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
	if d := s.Daemon(ctx); d != nil {
		if _, err := control.Do(ctx, d, daemonv1.DaemonHandler.Refresh, &daemonv1.RefreshRequest{}); err != nil {
			s.Warn(tool.AsError(err))
		}
	}
}

// Unlike says what keeps this command, with this value of --audit, from using a daemon; empty if nothing does.
func (s *Session) Unlike(daemon control.State, audit string) string {
	switch {
	case daemon.Draining:
		return "it is ending"
	case audit != "":
		return "--audit is for a host of this command's own"
	}
	unused, t := s.unread, s.Settings()
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

// NoDaemon returns the error of a command that needs a daemon, and found none that it can use. Why says what
// for; empty: it is plain.
func (s *Session) NoDaemon(why string) error {
	path, err := s.Settings().SocketPath()
	if err != nil {
		return err
	}
	message := "no daemon is running on " + sanitize.Text(path) + " that this command can use"
	if why != "" {
		message += ": " + why
	}
	return tool.Errorf(tool.CodeUnavailable, "%s", message).
		Try("start one with toolhost serve and the same --root, --config and --plugin-dir, or name its socket with --socket")
}

// Status returns the status of a plugin.
func Status(all []plugin.Status, name string) (plugin.Status, bool) {
	i := slices.IndexFunc(all, func(s plugin.Status) bool { return s.Name == name })
	if i < 0 {
		return plugin.Status{}, false
	}
	return all[i], true
}
