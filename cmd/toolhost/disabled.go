package main

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/state"
)

// disabledPlugins are those that toolhost plugins disable has switched off: names by the
// plugin directory. They are kept apart from the configuration file, which is written by
// people and stays as they wrote it.
type disabledPlugins map[string][]string

// disabledFile is where they are kept, in the user's state directory.
const disabledFile = "disabled.json"

// readDisabled reads the file. A file that cannot be read is an error: it may name
// plugins that must not run.
func readDisabled() (disabledPlugins, error) {
	file, err := state.In[disabledPlugins](disabledFile)
	if err != nil {
		return disabledPlugins{}, nil //nolint:nilerr // without such a directory nothing was ever disabled
	}
	disabled, err := file.Read()
	if err != nil {
		return nil, &failure{exitUsage, fmt.Errorf("which plugins are disabled is not known: %w", err)}
	}
	return disabled, nil
}

// disable switches a plugin of a directory off or on, and reports whether it was the
// other way before.
func disable(dir, name string, off bool) (changed bool, err error) {
	file, err := state.In[disabledPlugins](disabledFile)
	if err != nil {
		return false, err
	}
	err = file.Update(func(d *disabledPlugins) error {
		if *d == nil {
			*d = disabledPlugins{}
		}
		changed = d.set(dir, name, off)
		return nil
	})
	return changed && err == nil, err
}

// set switches a plugin of a directory off or on, and reports whether it was the other
// way before.
func (d disabledPlugins) set(dir, name string, off bool) bool {
	names := d[dir]
	i := slices.Index(names, name)
	if off == (i >= 0) {
		return false
	}
	if off {
		d[dir] = append(names, name)
		slices.Sort(d[dir])
		return true
	}
	if names = slices.Delete(names, i, i+1); len(names) == 0 {
		delete(d, dir)
	} else {
		d[dir] = names
	}
	return true
}

// over is what the configuration says of plugins, with those disabled that are disabled
// in one of the directories.
func (d disabledPlugins) over(of func(string) host.PluginSettings, dirs pluginDirs) func(string) host.PluginSettings {
	off := map[string]bool{}
	for _, dir := range dirs.dirs {
		if path, err := canonical(dir); err == nil {
			for _, name := range d[path] {
				off[name] = true
			}
		}
	}
	return func(name string) host.PluginSettings {
		s := of(name)
		s.Disabled = s.Disabled || off[name]
		return s
	}
}
