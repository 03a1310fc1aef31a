package session

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/toggle"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/trust"
)

// hold returns what decides about files of plugins as they are found: what was never enabled, if that
// is asked for, and, unless it is trusted all the same, what lies in the workspace, where another plugin
// may have put it.
func (t *Settings) hold(trusted bool) (func(plugin.Candidate) (reason, sha256 string), error) {
	isNew := func(plugin.Candidate) string { return "" }
	if t.Config.HoldNew && !t.Dirs.Apart { // that one was named
		records, err := toggle.Read()
		if err != nil {
			return nil, err
		}
		isNew = func(c plugin.Candidate) string { return toggle.Hold(records, c) }
	}
	record, err := pins.ReadRecord()
	if err != nil {
		return nil, err
	}
	return func(c plugin.Candidate) (reason, sha256 string) {
		if reason := isNew(c); reason != "" || trusted || !t.unsure(c) || t.pins(record, filepath.Dir(c.Path)) {
			return reason, ""
		}
		sum, err := store().Trusted(c.Path)
		if sum != "" {
			return "", sum
		}
		reason = fmt.Sprintf("it lies in the workspace and is not trusted as it is: toolhost plugins enable %s, or toolhost plugins lock", c.Name)
		if err != nil {
			reason += fmt.Sprintf(" (%v)", err)
		}
		return reason, ""
	}, nil
}

// unsure reports whether a plugin's file lies in the workspace, in a directory that was not named on
// the command line or in the environment. The one next to the program is as sure as the program.
func (t *Settings) unsure(c plugin.Candidate) bool {
	dir := filepath.Dir(c.Path)
	switch t.Dirs.Source {
	case pluginFlag, "--plugin-dir", PluginDirVariable:
		return false
	}
	return !t.Dirs.Apart && dir != nextToProgram() && (protect.Inside(t.Root, dir) || protect.Inside(t.Root, c.Path))
}

// pins reports whether a lock decides about the plugins of a directory.
func (t *Settings) pins(record pins.Record, dir string) bool {
	path, _, err := t.flags.ConfigPath()
	if err != nil || t.Config.Lock == config.LockOff {
		return false
	}
	own, err := pins.OwnLock(t.Config, path)
	user, bad := t.UserLock()
	if err != nil || bad != nil {
		return false
	}
	locks := record.Locks(own.File, user, dir)
	if own.Required || t.Config.File != "" && paths.Exists(own.File) {
		locks = append(locks, own.File)
	}
	return slices.ContainsFunc(locks, func(file string) bool {
		l, err := lockfile.Read(file)
		return err != nil || !l.Others // one that cannot be read lets nothing run
	})
}

// TrustPlugin lets the file of a plugin that lies in the workspace run as it is now.
//
// # Errors
//
// [*exit.Error] if it cannot be read, or that cannot be remembered.
func (t *Settings) TrustPlugin(c plugin.Candidate) error {
	if !t.unsure(c) {
		return nil
	}
	sum, err := trust.Digest(c.Path)
	if err == nil {
		err = store().Trust(c.Path, sum)
	}
	if err != nil {
		return exit.With(exit.Failed, fmt.Errorf("plugin %s is not trusted: %w", c.Name, err))
	}
	return nil
}

// TrustPlugins is [Settings.TrustPlugin] for all plugins that there are.
func (t *Settings) TrustPlugins() error {
	for _, dir := range t.Dirs.Watched() {
		all, _, _ := pluginrun.Discover(dir) // what cannot be read is told when it is loaded
		for _, c := range all {
			if err := t.TrustPlugin(c); err != nil {
				return err
			}
		}
	}
	return nil
}
