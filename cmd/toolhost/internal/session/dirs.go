package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Dirs are the plugin directories in effect. They need not exist.
type Dirs struct {
	Paths []string
	// Source is the flag, setting or variable that names them; empty for the default
	// directories.
	Source string
	// Single says that the only path is that of a plugin's file.
	Single bool
}

// pluginDirs returns the directories of --plugin-dir, else of the configuration file, else of
// the environment, else the default ones.
func pluginDirs(f *Flags, c *config.Config) Dirs {
	if f.Plugin != "" {
		return Dirs{Paths: []string{f.Plugin}, Source: pluginFlag, Single: true}
	}
	if len(f.PluginDirs) > 0 {
		return Dirs{Paths: f.PluginDirs, Source: "--plugin-dir"}
	}
	if len(c.PluginDirs) > 0 {
		return Dirs{Paths: c.PluginDirs, Source: "plugin_dirs in " + c.File}
	}
	dirs := filepath.SplitList(os.Getenv(PluginDirVariable))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	if len(dirs) > 0 {
		return Dirs{Paths: dirs, Source: PluginDirVariable}
	}
	return Dirs{Paths: defaultDirs()}
}

// usable returns the directories to load: all that were named, which have to exist, or the
// default directories that exist. With MCP servers, none need to exist.
func (d Dirs) usable(set *servers.Set) ([]string, error) {
	const hint = "and copy plugin binaries into it, or name another with --plugin-dir or " + PluginDirVariable
	if d.Single {
		return d.Paths, checkFile(d.Paths[0])
	}
	if d.Source == "" {
		dirs := d.Existing()
		if len(dirs) == 0 && (set == nil || len(set.All) == 0) {
			return nil, exit.Usage("there is no plugin directory: looked for "+strings.Join(d.Paths, " and "), "make one of them "+hint)
		}
		return dirs, nil
	}
	for _, dir := range d.Paths {
		// Other problems are found when the directory is loaded.
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, exit.Usage(fmt.Sprintf("there is no plugin directory %s (from %s)", sanitize.Text(dir), d.Source), "make it "+hint)
		}
	}
	return d.Paths, nil
}

// Watched returns the directories that a daemon watches: all that were named, as they may come
// back, or the default directories that exist.
func (d Dirs) Watched() []string {
	if d.Source == "" {
		return d.Existing()
	}
	return d.Paths
}

// Existing returns the directories that exist.
func (d Dirs) Existing() []string {
	var dirs []string
	for _, dir := range d.Paths {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func defaultDirs() []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		// Next to the program itself, not to a link to it.
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		dirs = append(dirs, filepath.Join(filepath.Dir(exe), "plugins"))
	}
	// A relative XDG_DATA_HOME is to be ignored (XDG Base Directory Specification,
	// "Environment variables").
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
