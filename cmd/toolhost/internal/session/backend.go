package session

import (
	"context"
	"errors"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Backend is where a command finds the plugins: a host of its own ([*Local]) or a daemon
// ([*Remote]), whose plugins and faults are those of the moment when the command began.
type Backend interface {
	// Tools returns the tools that pass the filter, sorted by name.
	Tools(context.Context, host.Filter) ([]host.Tool, error)
	// Tool returns the tool of a name.
	Tool(ctx context.Context, name string) (host.Tool, bool, error)
	// Len counts the tools.
	Len() int
	Plugins() []plugin.Status
	Skipped() []plugin.Skipped
	// Leaving returns the processes of plugins that were replaced or withdrawn.
	Leaving() []plugin.Status
	// Sandbox returns what the process of a plugin may do; nil: it has none, or the daemon is
	// another user's, who is told.
	Sandbox(ctx context.Context, name string) (*plugin.SandboxStatus, error)
	// Faults say why plugins, tools and directories cannot be used.
	Faults() []*tool.Error
	// Dirs returns the plugin directories.
	Dirs() []string
	// Call runs a call. It asks the approver, which may be nil, unless the call brings its
	// approval along.
	Call(context.Context, control.Call, policy.Approver) control.Answer
	RestartPlugin(ctx context.Context, name string) error
	RollbackPlugin(ctx context.Context, name string) error
	// Close ends a host of the command's own, and leaves a daemon as it is.
	Close(context.Context) error
}

// Needs are what a command needs of a host of its own.
type Needs struct {
	// Options are added to those of the settings.
	Options []host.Option
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

// Use opens a backend, warns of plugins that cannot be used, runs f, and closes the backend.
func (s *Session) Use(ctx context.Context, n Needs, f func(Backend) error) error {
	b, err := s.Open(ctx, n)
	if err != nil {
		return err
	}
	faults := b.Faults()
	if l, alone := b.(*Local); alone && !s.Settings().Dirs.Apart && n.Trace == nil {
		faults = slices.Concat(faults, l.Unmatched())
	}
	s.WarnOf(faults, b.Plugins(), n.Shown)
	return errors.Join(f(b), b.Close(ctx))
}

// Open returns the daemon, if one runs that has everything in common with this command, else
// a host of the command's own.
func (s *Session) Open(ctx context.Context, n Needs) (Backend, error) {
	if _, err := s.Logger(); err != nil { // the flag is checked in either case
		return nil, err
	}
	if r, err := s.daemon(ctx, n); r != nil || err != nil {
		return r, err
	}
	if n.Daemon != "" {
		return nil, s.NoDaemon(n.Daemon)
	}
	return s.OpenLocal(ctx, n)
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
