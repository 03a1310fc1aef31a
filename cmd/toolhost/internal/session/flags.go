package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/internal/state"
)

// The environment variables that stand in for flags.
const (
	ConfigVariable    = "TOOLHOST_CONFIG"
	PluginDirVariable = "TOOLHOST_PLUGIN_DIR"
	SocketVariable    = "TOOLHOST_SOCKET"
	AuditVariable     = "TOOLHOST_AUDIT"
	CacheVariable     = "TOOLHOST_CACHE_DIR"
	InstallVariable   = "TOOLHOST_INSTALL_DIR"
)

// Off stands in place of a path for no socket, no audit log, or no cache.
const Off = "off"

// DefaultConfig is the configuration file that is read, if it exists, when none is named.
const DefaultConfig = "toolhost.yaml"

var logLevels = []string{"trace", "debug", "info", "warn", "error", "off"}

// Flags are the flags of all commands.
type Flags struct {
	Config     string
	PluginDirs []string
	// Developed is the private directory of a plugin that is being developed, which is used in
	// place of all others; empty: there is none. It is not a flag.
	Developed  string
	Plugin     string // a file, absolute once the session is configured; empty: the directories
	MCPConfigs []string
	Root       string
	JSON       bool
	LogLevel   string
	Socket     string
	NoDaemon   bool

	set *pflag.FlagSet
}

// Bind adds the flags to the root command.
func (f *Flags) Bind(root *cobra.Command) {
	flags := root.PersistentFlags()
	f.set = flags
	flags.StringVar(&f.Config, "config", "", "configuration `FILE` (default $"+ConfigVariable+
		", else a trusted "+DefaultConfig+" here)")
	flags.StringArrayVar(&f.PluginDirs, "plugin-dir", nil, "`DIR` of plugins (default $"+PluginDirVariable+", else installed ones)")
	flags.StringArrayVar(&f.MCPConfigs, "mcp-config", nil, "mount the MCP servers of another client's `FILE`")
	flags.StringVar(&f.Root, "root", ".", "workspace `DIR` that plugins work on")
	flags.BoolVar(&f.JSON, "json", false, "print JSON on standard output")
	flags.StringVar(&f.LogLevel, "log-level", "warn", "lowest `LEVEL` to log: "+strings.Join(logLevels, ", "))
	flags.StringVar(&f.Socket, "socket", "", "socket `FILE`, or "+Off+" (default $"+SocketVariable+")")
	flags.BoolVar(&f.NoDaemon, "no-daemon", false, "work without the daemon")
	// The following only fail for a flag that does not exist.
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.MarkPersistentFlagDirname("plugin-dir")
	_ = root.MarkPersistentFlagFilename("mcp-config", "json", "jsonc")
	_ = root.MarkPersistentFlagDirname("root")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
}

// Given reports whether the command line has a flag.
func (f *Flags) Given(flag string) bool { return f.set.Changed(flag) }

// Silence sets --log-level off.
func (f *Flags) Silence() { _ = f.set.Set("log-level", "off") }

// serviceConfig names the directory of a service's configuration. The service manager sets it,
// so a file there is named.
const serviceConfig = "CONFIGURATION_DIRECTORY"

// ConfigPath returns the path of the configuration file, and the flag or variable that names
// it. By is empty for the default file, which need not exist.
func (f *Flags) ConfigPath() (path, by string, err error) {
	path, by = f.Config, "--config"
	if path == "" {
		path, by = os.Getenv(ConfigVariable), ConfigVariable
	}
	if dir := state.OfService(serviceConfig); path == "" && dir != "" {
		if at := filepath.Join(dir, DefaultConfig); paths.Exists(at) {
			path, by = at, serviceConfig
		}
	}
	if path == "" {
		path, by = DefaultConfig, ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", exit.With(exit.BadUsage, err)
	}
	return path, by, nil
}

func checkLogLevel(level string) error {
	if slices.Contains(logLevels, level) {
		return nil
	}
	return exit.Usage(fmt.Sprintf("unknown log level %q", level), "use "+strings.Join(logLevels, ", "))
}
