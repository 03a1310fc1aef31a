package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// pluginDirVariable names plugin directories where no flag does.
const pluginDirVariable = "TOOLHOST_PLUGIN_DIR"

var carriers = []string{string(plugin.Stream), string(plugin.Socket), string(plugin.Unary)}

var logLevels = []string{"trace", "debug", "info", "warn", "error", "off"}

func (a *app) addGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	a.globals = flags
	flags.StringVar(&a.configFile, "config", "", "the configuration `FILE` (default $"+configVariable+
		", else "+defaultConfig+" in the current directory, if it is there and trusted)")
	flags.StringArrayVar(&a.dirs, "plugin-dir", nil, "a `directory` of plugin binaries; may be repeated (default $"+pluginDirVariable+
		", else plugins beside this program, then the user's data directory)")
	flags.StringVar(&a.root, "root", ".", "the workspace `directory` that plugins work on")
	flags.BoolVar(&a.json, "json", false, "print JSON on standard output")
	flags.StringVar(&a.logLevel, "log-level", "warn", "what to log on standard error: `LEVEL` is "+strings.Join(logLevels, ", "))
	flags.StringVar(&a.carrier, "carrier", string(plugin.Stream), "what calls to plugins travel on: `CARRIER` is "+strings.Join(carriers, ", "))
	flags.StringVar(&a.socket, "socket", "", "the daemon's socket, a `FILE`, or "+noSocket+" (default $"+socketVariable+
		", else toolhost/control.sock in the user's runtime or state directory)")
	flags.BoolVar(&a.noDaemon, "no-daemon", false, "work without the daemon, if one is running")
	_ = root.RegisterFlagCompletionFunc("carrier", cobra.FixedCompletions(carriers, cobra.ShellCompDirectiveNoFileComp))
	// These only fail for a flag that is not there.
	_ = root.MarkPersistentFlagDirname("plugin-dir")
	_ = root.MarkPersistentFlagDirname("root")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
}

// logger writes to standard error: standard output belongs to results.
func (a *app) logger() (hclog.Logger, error) {
	if !slices.Contains(logLevels, a.logLevel) {
		return nil, usage(fmt.Sprintf("unknown log level %q", a.logLevel), "use "+strings.Join(logLevels, ", "))
	}
	if a.log == nil { // there is one, so that its level can be changed
		a.log = hclog.New(&hclog.LoggerOptions{Name: "toolhost", Level: hclog.LevelFromString(a.logLevel), Output: a.err})
	}
	return a.log, nil
}

// detailed reports whether evidence is wanted that is too long for every day.
func (a *app) detailed() bool { return a.logLevel == "debug" || a.logLevel == "trace" }

// pluginDirs are the directories that this command or daemon is about.
type pluginDirs struct {
	dirs  []string
	where string // somebody named them; empty: they are the default ones
}

// namedDirs are those that a flag, else the file, else the environment names, else the
// default ones,
// whether they are there or not.
func (a *app) namedDirs() pluginDirs {
	if len(a.dirs) > 0 {
		return pluginDirs{a.dirs, "--plugin-dir"}
	}
	if c := a.configured(); len(c.PluginDirs) > 0 {
		return pluginDirs{c.PluginDirs, "plugin_dirs in " + c.File}
	}
	dirs := filepath.SplitList(os.Getenv(pluginDirVariable))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	if len(dirs) > 0 {
		return pluginDirs{dirs, pluginDirVariable}
	}
	return pluginDirs{dirs: defaultDirs()}
}

// usable are the directories to load. What somebody named has to be there; of the
// default ones, those that are.
func (p pluginDirs) usable() ([]string, error) {
	if p.where == "" {
		return existing(p.dirs)
	}
	for _, dir := range p.dirs {
		// What else may be wrong with it is found when it is loaded.
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, usage(fmt.Sprintf("there is no plugin directory %s (from %s)", sanitize.Text(dir), p.where),
				"make it and copy plugin binaries into it, or name another with --plugin-dir or "+pluginDirVariable)
		}
	}
	return p.dirs, nil
}

// found are the directories that a daemon looks at: what somebody named may come back,
// of the default ones those count that are there.
func (p pluginDirs) found() []string {
	if p.where == "" {
		return present(p.dirs)
	}
	return p.dirs
}

// existing are those of the default directories that are there.
func existing(defaults []string) ([]string, error) {
	dirs := present(defaults)
	if len(dirs) == 0 {
		return nil, usage("there is no plugin directory: looked for "+strings.Join(defaults, " and "),
			"make one of them and copy plugin binaries into it, or name another with --plugin-dir or "+pluginDirVariable)
	}
	return dirs, nil
}

// present are those of some directories that are there.
func present(all []string) []string {
	var dirs []string
	for _, dir := range all {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func defaultDirs() []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		// Beside the program itself, and not beside a link to it.
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		dirs = append(dirs, filepath.Join(filepath.Dir(exe), "plugins"))
	}
	// A relative XDG_DATA_HOME is to be ignored (XDG Base Directory
	// Specification, "Environment variables").
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return dirs
		}
		data = filepath.Join(home, ".local", "share")
	}
	return append(dirs, filepath.Join(data, "toolhost", "plugins"))
}
