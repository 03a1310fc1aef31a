package session

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/toggle"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/internal/trust"
)

// Settings are what a command or daemon goes by: flags, and where they leave something open
// the configuration file, the environment and the defaults. They never change: a daemon that
// tries another configuration makes other settings ([Settings.With]).
type Settings struct {
	Config   *config.Config // its File is empty if there is no configuration file
	Root     string
	LogLevel string
	Dirs     Dirs

	flags *Flags
	run   setup.Run
	// files are those of --mcp-config, as they were when they were read for the first time.
	files func() ([]servers.Content, error)
	// bare: no configuration applies, so hosts are made with their own defaults.
	bare bool
}

func newSettings(f *Flags, c *config.Config, once bool) *Settings {
	return (&Settings{flags: f, run: setup.Run{Once: once, Lookup: os.LookupEnv}}).With(c).Reread()
}

func defaultSettings(f *Flags) *Settings {
	t := newSettings(f, config.Default(), true)
	t.bare = true
	return t
}

// With returns the settings that follow from another configuration.
func (t *Settings) With(c *config.Config) *Settings {
	out := &Settings{Config: c, Root: t.flags.Root, LogLevel: t.flags.LogLevel, flags: t.flags, run: t.run, files: t.files}
	if c.Root != "" && !t.flags.Given("root") {
		out.Root = c.Root
	}
	if !t.flags.Given("log-level") {
		out.LogLevel = c.LogLevel
	}
	out.Dirs = pluginDirs(t.flags, c)
	return out
}

// Reread returns the settings with the files of --mcp-config as they are now.
func (t *Settings) Reread() *Settings {
	out := *t
	out.files = sync.OnceValues(out.mcpFiles)
	return &out
}

// mcpFiles reads the files of --mcp-config. One inside the root counts with the content that is trusted.
func (t *Settings) mcpFiles() (all []servers.Content, err error) {
	for _, path := range t.flags.MCPConfigs {
		one, err := servers.Read(path)
		if err != nil {
			return nil, exit.With(exit.BadUsage, err)
		}
		_, bad := servers.Parse(one, func(string) config.Server { return t.Config.NewServer() })
		counts, err := store().Counts(one.Path, one.Digest(), trust.Circumstances{
			Inside: protect.Inside(t.Root, one.Path), Named: true, First: bad == nil,
		})
		switch {
		case err != nil:
			return nil, exit.With(exit.BadUsage, unusable(err))
		case !counts && bad != nil:
			return nil, exit.With(exit.BadUsage, bad)
		case !counts:
			held := Held(one.Path)
			held.Hint = "look at it, and: toolhost trust " + sanitize.Text(one.Path)
			return nil, exit.With(exit.Refused, held)
		}
		all = append(all, one)
	}
	return all, nil
}

// Servers returns the MCP servers of the configuration and of --mcp-config, those that toolhost
// plugins disable has switched off included.
//
// # Errors
//
// [*exit.Error] for a file that cannot be read.
func (t *Settings) Servers() (*servers.Set, error) {
	if t.Dirs.Apart {
		return &servers.Set{}, nil
	}
	files, err := t.files()
	if err != nil {
		return nil, err
	}
	set, err := t.ServersOf(t.Config, files...)
	if err != nil {
		return nil, err
	}
	records, err := toggle.Read()
	if err != nil {
		return nil, err
	}
	for i := range set.All {
		s := &set.All[i]
		s.Disabled = toggle.IsOff(records, s.File, s.Name)
		if t.run.Once {
			s.Server.IdleTimeout = 0
		}
	}
	return set, nil
}

// ServersOf returns the MCP servers of a configuration and of files.
//
// # Errors
//
// [*exit.Error] for a file that cannot be read.
func (t *Settings) ServersOf(c *config.Config, files ...servers.Content) (*servers.Set, error) {
	root, err := filepath.Abs(t.Root)
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	set, err := servers.Collect(c, files, config.Surroundings{Lookup: os.LookupEnv, Root: root})
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	return set, nil
}

// Load reads what the configuration refers to: variables, files, paths of sandboxes, and the
// lists of enabled and disabled plugins.
//
// # Errors
//
// [*exit.Error] with everything that is missing or cannot be used.
func (t *Settings) Load() (setup.Loaded, error) {
	if err := t.Config.CheckPaths(); err != nil {
		return setup.Loaded{}, exit.With(exit.BadUsage, err)
	}
	if err := t.CheckPlaces(""); err != nil {
		return setup.Loaded{}, err
	}
	plugins, err := setup.PluginSettings(t.Config, t.run)
	if err != nil {
		return setup.Loaded{}, exit.With(exit.BadUsage, err)
	}
	records, err := toggle.Read()
	if err != nil {
		return setup.Loaded{}, err
	}
	out := setup.Loaded{Config: t.Config, Plugins: toggle.Disable(records, plugins, t.Dirs.Paths)}
	if out.Servers, err = t.Servers(); err != nil {
		return setup.Loaded{}, err
	}
	out.Hold, err = t.hold(false)
	return out, err
}

// Caller returns what the configuration gives the caller that uses commands.
func (t *Settings) Caller() setup.Caller { return setup.CallerOf(t.Config, setup.CLI) }

// Identity returns what a command and a daemon must have in common.
//
// # Errors
//
// Those of paths that cannot be resolved.
func (t *Settings) Identity() (control.Identity, error) {
	root, err := paths.Canonical(t.Root)
	out := control.Identity{Root: root, PluginDirs: []string{}}
	for _, dir := range t.Dirs.Paths {
		if dir == t.Dirs.Installed && chosen("", t.Config.InstallDir, InstallVariable) == "" {
			continue // in the data directory, it is each user's own: that of the daemon counts
		}
		path, bad := paths.Canonical(dir)
		out.PluginDirs = append(out.PluginDirs, path)
		err = errors.Join(err, bad)
	}
	if c := t.Config; c.File != "" {
		path, bad := paths.Canonical(c.File)
		out.Config, out.ConfigDigest = path, c.Digest()
		err = errors.Join(err, bad)
	}
	files, bad := t.files()
	for _, one := range files {
		path, bad := paths.Canonical(one.Path)
		out.MCPConfigs = append(out.MCPConfigs, control.MCPConfig{Path: path, Digest: one.Digest()})
		err = errors.Join(err, bad)
	}
	return out, errors.Join(err, bad)
}

// SocketPath returns the path of the daemon's socket; empty if there is to be none.
func (t *Settings) SocketPath() (string, error) {
	path := chosen(t.flags.Socket, t.Config.Socket, SocketVariable)
	switch path {
	case Off:
		return "", nil
	case "":
		return defaultSocket()
	}
	return filepath.Abs(path)
}

// defaultSocket returns a path in the runtime directory of the user or of the service, if the
// system has one, else in the user's state directory.
func defaultSocket() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolhost", "control.sock"), nil
	}
	if dir := state.OfService("RUNTIME_DIRECTORY"); dir != "" {
		return filepath.Join(dir, "control.sock"), nil
	}
	dir, err := state.Dir()
	if err != nil {
		return "", exit.Usage("there is no default place for the daemon's socket: "+err.Error(),
			"name one with --socket or "+SocketVariable)
	}
	return filepath.Join(dir, "control.sock"), nil
}

// AuditPath returns the path of the audit log that a flag or else the configuration or the
// environment names; empty for the default path.
func (t *Settings) AuditPath(flag string) string {
	return chosen(flag, t.Config.Audit.Path, AuditVariable)
}

// CacheDir returns the directory in which hosts remember what plugins say of themselves, and
// plugins have caches of their own; empty if the user or the system wants none.
func (t *Settings) CacheDir() string {
	dir := chosen("", t.Config.CacheDir, CacheVariable)
	switch dir {
	case Off:
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return state.OfService("CACHE_DIRECTORY")
		}
		return filepath.Join(base, "toolhost")
	}
	return dir
}

// InstallDir returns the directory to which plugins are installed; empty: the system has no place
// for it.
func (t *Settings) InstallDir() string { return installDir(t.Config) }

// UserLock returns the lock of what is installed; empty: nothing can be.
//
// # Errors
//
// A plain error if its path cannot be resolved.
func (t *Settings) UserLock() (string, error) {
	dir := t.InstallDir()
	if dir == "" {
		return "", nil
	}
	return pins.UserLock(dir)
}

// chosen returns the value of the flag, else of the file, else of the environment.
func chosen(flag, file, variable string) string { return cmp.Or(flag, file, os.Getenv(variable)) }

// options returns what hosts are made with; l is nil to load what the configuration refers to.
func (t *Settings) options(l *setup.Loaded) (setup.Loaded, []host.Option, error) {
	if t.bare {
		return setup.Loaded{Config: t.Config}, nil, nil
	}
	if l == nil {
		loaded, err := t.Load()
		if err != nil {
			return setup.Loaded{}, nil, err
		}
		l = &loaded
	}
	return *l, append(setup.Options(l.Config), host.WithPluginSettings(l.Plugins.Apply), host.WithDisabled(l.Hold)), nil
}
