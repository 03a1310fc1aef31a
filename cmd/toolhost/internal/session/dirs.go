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
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
)

// Dirs are the plugin directories in effect. They need not exist.
type Dirs struct {
	Paths []string
	// Source is the flag, setting or variable that names them; empty for the default
	// directories.
	Source string
	// Apart says that the only path is that of one plugin, on which nothing bears that is
	// installed: of its file, or of the private directory in which it is developed.
	Apart bool
	// Installed is that of the paths to which plugins are installed, which need not exist whatever
	// the source. Empty: none of them.
	Installed string
}

// pluginDirs returns the directories of --plugin-dir, else of the configuration file, else of
// the environment, else the default ones.
func pluginDirs(f *Flags, c *config.Config) Dirs {
	if f.Plugin != "" {
		return Dirs{Paths: []string{f.Plugin}, Source: pluginFlag, Apart: true}
	}
	if f.Developed != "" {
		return Dirs{Paths: []string{f.Developed}, Source: "toolhost dev run", Apart: true}
	}
	if len(f.PluginDirs) > 0 {
		return Dirs{Paths: f.PluginDirs, Source: "--plugin-dir"}
	}
	if len(c.PluginDirs) > 0 {
		return Dirs{Paths: c.PluginDirs, Source: "plugin_dirs in " + c.File}.withInstalled(c)
	}
	dirs := filepath.SplitList(os.Getenv(PluginDirVariable))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	if len(dirs) > 0 {
		return Dirs{Paths: dirs, Source: PluginDirVariable}
	}
	return Dirs{Paths: defaultDirs()}.withInstalled(c)
}

// withInstalled adds the directory to which plugins are installed.
func (d Dirs) withInstalled(c *config.Config) Dirs {
	dir := installDir(c)
	if dir == "" {
		return d
	}
	d.Installed = installed.PluginDir(dir)
	d.Paths = append(slices.Clone(d.Paths), d.Installed)
	return d
}

// installDir returns the directory of toolhost's own for what it installs; empty: the system has no
// place for it.
func installDir(c *config.Config) string {
	if dir := chosen("", c.InstallDir, InstallVariable); dir != "" {
		return dir
	}
	if data := dataDir(); data != "" {
		return filepath.Join(data, "toolhost", installed.Name)
	}
	if own := state.OfService("STATE_DIRECTORY"); own != "" {
		return filepath.Join(own, installed.Name)
	}
	return ""
}

// MakeInstalled makes the directory to which plugins are installed, so that a daemon can watch it. If
// it cannot be made, it is not watched until it is there.
func (d Dirs) MakeInstalled() {
	if d.Installed == "" {
		return
	}
	if made, err := installed.Open(filepath.Dir(d.Installed)); err == nil {
		_ = made.Close()
	}
}

// usable returns the directories to load: all that were named, which have to exist, or the
// default directories that exist. With MCP servers, none need to exist.
func (d Dirs) usable(set *servers.Set) ([]string, error) {
	const hint = "and copy plugin binaries into it, or name another with --plugin-dir or " + PluginDirVariable
	if d.Source == pluginFlag {
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
		info, err := os.Stat(dir)
		if dir == d.Installed && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, exit.Usage(fmt.Sprintf("there is no plugin directory %s (from %s)", sanitize.Text(dir), d.Source), "make it "+hint)
		}
	}
	return d.Watched(), nil
}

// Watched returns the directories that a daemon watches: all that were named, as they may come
// back, or the default directories that exist.
func (d Dirs) Watched() []string {
	if d.Source == "" {
		return d.Existing()
	}
	return slices.DeleteFunc(slices.Clone(d.Paths), func(dir string) bool {
		_, err := os.Stat(dir)
		return dir == d.Installed && errors.Is(err, fs.ErrNotExist)
	})
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
	if dir := nextToProgram(); dir != "" {
		dirs = append(dirs, dir)
	}
	if data := dataDir(); data != "" {
		dirs = append(dirs, filepath.Join(data, "toolhost", "plugins"))
	}
	return dirs
}

// nextToProgram returns the directory next to the program itself, not to a link to it; empty: the
// system does not say where that is.
func nextToProgram() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(exe); err == nil {
		exe = resolved
	}
	return filepath.Join(filepath.Dir(exe), "plugins")
}

// dataDir returns the user's directory for data; empty: the system does not say.
func dataDir() string {
	// A relative XDG_DATA_HOME is to be ignored (XDG Base Directory Specification,
	// "Environment variables").
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return data
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share")
}
