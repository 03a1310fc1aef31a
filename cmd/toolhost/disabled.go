package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// disabledPlugins are those that toolhost plugins disable has switched off: names by the
// plugin directory. They are kept apart from the configuration file, which is written by
// people and stays as they wrote it.
type disabledPlugins map[string][]string

// maxDisabled bounds the file, in bytes.
const maxDisabled = 1 << 20

// disabledPath is the file, in the user's state directory.
func disabledPath() (string, error) {
	log, err := audit.DefaultPath()
	return filepath.Join(filepath.Dir(log), "disabled.json"), err
}

// readDisabled reads the file. What cannot be read disables nothing that it may have
// named, so that is an error.
func readDisabled() (disabledPlugins, error) {
	path, err := disabledPath()
	if err != nil {
		return disabledPlugins{}, nil //nolint:nilerr // without such a directory nothing was ever disabled
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return disabledPlugins{}, nil
	}
	bad := func(why error) error {
		return &failure{exitUsage, fmt.Errorf("which plugins are disabled cannot be read from %s: %w: mend or remove the file", sanitize.Text(path), why)}
	}
	if err != nil {
		return nil, bad(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxDisabled {
		return nil, bad(errors.New("it is no regular file of at most 1 MiB"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, bad(err)
	}
	out := disabledPlugins{}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, bad(err)
	}
	return out, nil
}

// write puts the file in the place of the one that is there, in one step.
func (d disabledPlugins) write() error {
	path, err := disabledPath()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".disabled-")
	if err != nil {
		return err
	}
	_, err = part.Write(append(text, '\n'))
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
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
