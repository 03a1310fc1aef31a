package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/state"
)

// namesByDir are names of plugins by the plugin directory. They are kept apart from the
// configuration file, which is written by people and stays as they wrote it.
type namesByDir map[string][]string

// The files in the user's state directory.
const (
	disabledFile = "disabled.json" // what toolhost plugins disable has switched off
	enabledFile  = "enabled.json"  // what toolhost plugins enable has ever switched on
)

// readNames reads a file. One that cannot be read is an error: it may name plugins that
// must not run.
func readNames(name string) (namesByDir, error) {
	file, err := state.In[namesByDir](name)
	if err != nil {
		return nil, nil //nolint:nilerr // without such a directory nothing was ever kept
	}
	names, err := file.Read()
	if err != nil {
		return nil, &failure{exitUsage, fmt.Errorf("which plugins are enabled and disabled is not known: %w", err)}
	}
	return names, nil
}

// setName has a file name a plugin of a directory, or not, and reports whether it was the
// other way before.
func setName(file, dir, name string, there bool) (changed bool, err error) {
	names, err := state.In[namesByDir](file)
	if err != nil {
		return false, err
	}
	err = names.Update(func(n *namesByDir) error {
		if *n == nil {
			*n = namesByDir{}
		}
		changed = n.set(dir, name, there)
		return nil
	})
	return changed && err == nil, err
}

// set adds a name or takes it away, and reports whether it was the other way before.
func (n namesByDir) set(dir, name string, there bool) bool {
	names := n[dir]
	i := slices.Index(names, name)
	if there == (i >= 0) {
		return false
	}
	if there {
		n[dir] = append(names, name)
		slices.Sort(n[dir])
		return true
	}
	if names = slices.Delete(names, i, i+1); len(names) == 0 {
		delete(n, dir)
	} else {
		n[dir] = names
	}
	return true
}

// disabledOver is what the configuration says of plugins, with those disabled that are
// named for one of the directories.
func (n namesByDir) disabledOver(of func(string) plugin.Settings, dirs pluginDirs) func(string) plugin.Settings {
	off := map[string]bool{}
	for _, dir := range dirs.dirs {
		if path, err := canonical(dir); err == nil {
			for _, name := range n[path] {
				off[name] = true
			}
		}
	}
	return func(name string) plugin.Settings {
		s := of(name)
		s.Enabled = s.Enabled && !off[name]
		return s
	}
}

// hold is why a plugin is held that was never enabled: one of that name in that
// directory.
func (n namesByDir) hold(c plugin.Candidate) string {
	dir, err := canonical(filepath.Dir(c.Path))
	if err == nil && slices.Contains(n[dir], c.Name) {
		return ""
	}
	return "new: toolhost plugins enable " + c.Name + " runs it"
}
