package plugin

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

const unixSockets = runtime.GOOS != "windows"

// DefaultStartTimeout is how long a plugin may take to start where nothing else is said.
const DefaultStartTimeout = 10 * time.Second

// Config is how a plugin is run.
type Config struct {
	// Settings is what the operator decides. What concerns calls and not the process
	// (Enabled, Previews, CallTimeout, MaxTimeout, Limits) is left to the caller; a zero
	// field means its default.
	Settings
	// Root is the workspace: the working directory, and what Configure hands
	// over. Required, absolute.
	Root string
	// TempDir is an existing private directory for sockets; a short path, as
	// socket addresses hold about 100 bytes. Required, if Sockets is not set.
	TempDir string
	// Sockets gives the TempDir when it is needed, at a start. Default: TempDir is
	// there already.
	Sockets func() (string, error)
	// Protected gives the paths that its tools must not change, when it is configured;
	// nil: none are.
	Protected func() []string
	// Admit is asked before each start whether the file may run as it is now; nil, or
	// where it gives nil: it may. An error is not a failure of the plugin.
	Admit func() error
	// DrainTimeout bounds how long Close waits for calls under way before it
	// ends the process. Default: 5 s.
	DrainTimeout time.Duration
	// Pins say what may run, asked for before each start; nil, or where it gives nil: all
	// may.
	Pins func() (Pins, error)
	// Changed is told, by a goroutine of its own that Close waits for, what
	// [Plugin.Changes] tells otherwise. Nil: nobody is.
	Changed func()
	// HostVersion is told to the plugin.
	HostVersion string
	// Logger takes the plugin's output and what happens to it. Default: none.
	Logger hclog.Logger

	healthPause time.Duration // 0: healthPause
}

func (c Config) withDefaults() Config {
	if c.StartTimeout <= 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = 5 * time.Second
	}
	if c.Namespace == "" {
		c.Namespace = NamespaceAuto
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	return c
}

// allowed are the variables of the host's environment that a plugin sees.
// Everything else may be a secret that is none of its business.
var allowed = []string{
	"PATH", "HOME", "TMPDIR", "LANG", "TZ", "XDG_CACHE_HOME",
	// Windows starts no process without these.
	"SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "LOCALAPPDATA",
}

// goVariable reports whether the go command's environment has such a name: GO
// and no underscore, as GOOGLE_API_KEY is the kind of thing to keep.
func goVariable(name string) bool {
	return strings.HasPrefix(name, "GO") && !strings.Contains(name, "_")
}

func (c Config) environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(allowed, name) || goVariable(name) {
			env = append(env, kv)
		}
	}
	return append(env, c.Env...)
}
