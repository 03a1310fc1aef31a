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
	flags.StringArrayVar(&a.dirs, "plugin-dir", nil, "a `directory` of plugin binaries; may be repeated (default $"+pluginDirVariable+
		", else plugins beside this program, then the user's data directory)")
	flags.StringVar(&a.root, "root", ".", "the workspace `directory` that plugins work on")
	flags.BoolVar(&a.json, "json", false, "print JSON on standard output")
	flags.StringVar(&a.logLevel, "log-level", "warn", "what to log on standard error: `LEVEL` is "+strings.Join(logLevels, ", "))
	flags.StringVar(&a.carrier, "carrier", string(plugin.Stream), "what calls to plugins travel on: `CARRIER` is "+strings.Join(carriers, ", "))
	_ = root.RegisterFlagCompletionFunc("carrier", cobra.FixedCompletions(carriers, cobra.ShellCompDirectiveNoFileComp))
	// These only fail for a flag that is not there.
	_ = root.MarkPersistentFlagDirname("plugin-dir")
	_ = root.MarkPersistentFlagDirname("root")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
}

// logger writes to standard error: standard output belongs to results.
func (a *app) logger() (hclog.Logger, error) {
	if !slices.Contains(logLevels, a.logLevel) {
		return nil, usage(fmt.Sprintf("unknown log level %q", a.logLevel), "use "+strings.Join(logLevels, ", "))
	}
	return hclog.New(&hclog.LoggerOptions{Name: "toolhost", Level: hclog.LevelFromString(a.logLevel), Output: a.err}), nil
}

// detailed reports whether evidence is wanted that is too long for every day.
func (a *app) detailed() bool { return a.logLevel == "debug" || a.logLevel == "trace" }

// pluginDirs are the directories to load. What somebody named has to be there;
// of the default ones, those that are.
func (a *app) pluginDirs() ([]string, error) {
	dirs, where := a.dirs, "--plugin-dir"
	if len(dirs) == 0 {
		dirs, where = filepath.SplitList(os.Getenv(pluginDirVariable)), pluginDirVariable
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	}
	for _, dir := range dirs {
		// What else may be wrong with it is found when it is loaded.
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, usage(fmt.Sprintf("there is no plugin directory %s (from %s)", sanitize.Text(dir), where),
				"make it and copy plugin binaries into it, or name another with --plugin-dir or "+pluginDirVariable)
		}
	}
	if len(dirs) > 0 {
		return dirs, nil
	}
	return existing(defaultDirs())
}

// existing are those of the default directories that are there.
func existing(defaults []string) ([]string, error) {
	var dirs []string
	for _, dir := range defaults {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, usage("there is no plugin directory: looked for "+strings.Join(defaults, " and "),
			"make one of them and copy plugin binaries into it, or name another with --plugin-dir or "+pluginDirVariable)
	}
	return dirs, nil
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
