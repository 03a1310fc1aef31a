package pluginrun

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// DefaultStartTimeout is how long a plugin may take to start by default.
const DefaultStartTimeout = 10 * time.Second

// Config is how a plugin is run.
type Config struct {
	// Settings is what the operator decides. What concerns calls and not the process
	// (Enabled, Previews, CallTimeout, MaxTimeout, Limits) is left to the caller; a zero
	// field means its default.
	plugin.Settings
	// Root is the workspace: the plugin's working directory, and what it is configured
	// with. Required, absolute.
	Root string
	// TempDir is an existing private directory for sockets. Its path is short, as socket
	// addresses hold about 100 bytes. Required if Sockets is not set.
	TempDir string
	// Sockets returns the TempDir, and is called at each start. Default: TempDir exists.
	Sockets func() (string, error)
	// Protected returns the paths that the plugin's tools must not change, when it is
	// configured; nil: there are none.
	Protected func() []string
	// Admit decides before each start whether the file may run as it is now, and again when a spare,
	// which is not called yet, is to serve. An error does not count as a failure of the plugin. Default: it may.
	Admit func(spare bool) error
	// MayWrite refuses, before each start, a directory that the sandbox would let the process write. An
	// error does not count as a failure of the plugin. Default: nil, none is refused.
	MayWrite func(dir string) error
	// DrainTimeout bounds how long Close waits for calls under way before it ends the
	// process. Default: 5 s.
	DrainTimeout time.Duration
	// Pins returns what may run, before each start; nil, or if it returns nil: everything
	// may.
	Pins func() (Pins, error)
	// Accepted returns, for each start and after Admit, and for [Plugin.Sandbox], what the
	// operator has accepted of the plugin's needs: the process gets no more than that
	// ([need.Within]), whatever it declares now, except for lines that the operator
	// decides ([plugin.Sandbox]). A nil ceiling that is known was accepted as undeclared, and bounds
	// nothing. Not known: it has never run here, or nothing is remembered, and what it declares
	// bounds it. Default: nil, never known.
	Accepted func() (ceiling *tool.Needs, known bool)
	// Enforced returns, for each start and for [Plugin.Sandbox], what no start may do without; nil:
	// nothing. Default: nil, nothing.
	Enforced func() *Enforced
	// Kept returns a copy of a binary that runs in place of the file, and its SHA-256 in
	// hexadecimal digits, before each start; empty, or nil: the file runs.
	Kept func() (path, sha256 string)
	// Content judges the SHA-256 of the file, in hexadecimal digits, before it runs: then a copy runs, which
	// nothing can change. Default: nil, and the file runs with whatever it has.
	Content func(sha256 string) error
	// Started is called after each start that succeeded, in a goroutine that Close waits for. Nil:
	// nothing is.
	Started func()
	// Changed is called, in a goroutine that Close waits for, after the plugin describes
	// itself differently, in place of a send to [Plugin.Changes]. Default: the send.
	Changed func()
	// Learned is called with what a server's SDK is to be from now on. Default: nil.
	Learned func(sdk string)
	// Offers is called with what a server has besides tools, see [plugin.Events]. Default: nil.
	Offers func([]string)
	// OnState is called with the status whenever the state has changed. It must return at
	// once, and not call the plugin. Default: nil, nothing is called.
	OnState func(plugin.Status)
	// HostVersion is sent to the plugin.
	HostVersion string
	// Logger receives the plugin's output and what happens to the plugin. Default: none.
	Logger hclog.Logger
	// Replaces says that a plugin of that name ran before in another way.
	Replaces bool
	// Journal keeps the newest lines of the plugin's output and of what happens to it.
	// Default: none.
	Journal *journal.Journal
	// Usage counts what the plugin's processes use; nil: for this [Plugin] alone.
	Usage *Usage

	// CacheDir returns the directory that lasts and is the plugin's own ([tool.Cache]), and makes
	// it; empty: there is none. Default: there is none.
	CacheDir func() string
	// Hidden are directories, without links in their paths, that look empty to the plugin, but
	// for what is its own in them.
	Hidden []string

	healthPause time.Duration       // 0: healthPause
	needs       *tool.Needs         // that the plugin declared last; nil: they are not known
	unasked     bool                // it has never said what it needs
	spare       bool                // it is started as a spare
	modules     []string            // in which it then said that its tools are; see [wire.Description]
	sdk         string              // of what it said of itself last; empty: that is not known
	renew       func(*instance)     // ends a run when its calls have ended
	survived    func(*process)      // is called when something of a run lives on that has ended; nil: nothing is
	failing     func(steps int) int // returns which step of the stage is to fail; tests set it
	denials     *denials            // counts what its sandbox refuses; nil: nothing does
	// createGroup makes a control group; nil: where this process may make some.
	createGroup func(purpose string, l cgroup.Limits) (*cgroup.Group, error)
}

// locateSockets sets the directory for sockets, for one start.
func (c *Config) locateSockets() (err error) {
	if c.Sockets != nil {
		c.TempDir, err = c.Sockets()
	}
	return err
}

func (c Config) withDefaults() Config {
	if c.StartTimeout <= 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = 5 * time.Second
	}
	c.Carrier, c.Namespace = cmp.Or(c.Carrier, plugin.Socket), cmp.Or(c.Namespace, plugin.NamespaceAuto)
	c.Sandbox.Level = cmp.Or(c.Sandbox.Level, plugin.BestEffort)
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Usage == nil {
		c.Usage = new(Usage)
	}
	if c.createGroup == nil {
		c.createGroup = func(purpose string, l cgroup.Limits) (*cgroup.Group, error) {
			tree, err := groups()
			if err != nil {
				return nil, err
			}
			return tree.Create(purpose, l)
		}
	}
	return c
}

// allowed are the variables of the host's environment that a plugin sees. Every other
// variable may be a secret.
var allowed = []string{
	"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "TZ", "XDG_CACHE_HOME",
}

// isGoVariable reports whether a name is one of the go command's variables: it begins with
// GO and has no underscore, unlike GOOGLE_API_KEY.
func isGoVariable(name string) bool {
	return strings.HasPrefix(name, "GO") && !strings.Contains(name, "_")
}

// environment returns the plugin's environment, with its own variables, which replace the host's.
func (c Config) environment(own ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if named := c.Sandbox.Env; named != nil {
			if slices.Contains(named, name) {
				env = append(env, kv)
			}
			continue
		}
		if slices.Contains(allowed, name) || isGoVariable(name) {
			env = append(env, kv)
		}
	}
	return slices.Concat(env, own, c.Env)
}
